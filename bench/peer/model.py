"""The models that are measured: shapes, arithmetic, and the copies that each peer needs, kept in one folder."""

import os
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(os.environ.get("SABOK_BENCH_MODELS", "/work/models"))


@dataclass(frozen=True)
class Model:
    name: str
    folder: str | None  # a model folder; None: random weights of the config below
    config: str  # what `sabok bench --config` calls this shape
    D: int
    L: int
    H: int
    F: int
    V: int = 30522

    def flops(self, batch_size: int, sequence_length: int) -> float:
        """Multiply-adds times two of the encoder: linear layers, and attention's two products."""
        tokens = batch_size * sequence_length
        linear = self.L * 2 * (4 * self.D * self.D + 2 * self.D * self.F)
        attention = self.L * 2 * 2 * sequence_length * self.D
        return float(tokens * (linear + attention))


MODELS = {
    "minilm": Model("minilm", str(CACHE / "all-MiniLM-L6-v2"), "minilm", D=384, L=6, H=12, F=1536),
    "bert-base": Model("bert-base", None, "bert-base", D=768, L=12, H=12, F=3072),
}


def torch_model(model: Model, attention: str = "sdpa"):
    """The encoder without its pooler, which sabok does not compute either; float32."""
    import torch
    from transformers import BertConfig, BertModel

    if model.folder is not None:
        net = BertModel.from_pretrained(
            model.folder, dtype=torch.float32, add_pooling_layer=False, attn_implementation=attention
        )
    else:
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=model.V,
            hidden_size=model.D,
            num_hidden_layers=model.L,
            num_attention_heads=model.H,
            intermediate_size=model.F,
            attn_implementation=attention,
        )
        net = BertModel(config, add_pooling_layer=False)
    return net.eval()


def onnx_file(model: Model) -> Path:
    """The exported model, made once.

    Of torch's two exporters and two spellings of attention, the tracing exporter with plain attention gives the graph
    that ONNX Runtime runs fastest; its own BERT optimiser script makes it no faster.
    """
    path = CACHE / "onnx" / f"{model.name}.onnx"
    if path.exists():
        return path
    import torch

    path.parent.mkdir(parents=True, exist_ok=True)
    net = torch_model(model, attention="eager")

    class Hidden(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def forward(self, input_ids, attention_mask):
            return self.net(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    ids = torch.randint(1000, model.V, (2, 16))
    names = ["input_ids", "attention_mask"]
    axes = {name: {0: "batch", 1: "sequence"} for name in [*names, "hidden"]}
    partial = path.with_suffix(".partial")
    torch.onnx.export(
        Hidden(),
        (ids, torch.ones_like(ids)),
        str(partial),
        dynamo=False,
        input_names=names,
        output_names=["hidden"],
        dynamic_axes=axes,
        opset_version=17,
    )
    partial.rename(path)
    return path


def openvino_file(model: Model) -> Path:
    """The exported model as OpenVINO's own format, with float32 weights."""
    path = CACHE / "openvino" / f"{model.name}.xml"
    if path.exists():
        return path
    import openvino

    path.parent.mkdir(parents=True, exist_ok=True)
    net = openvino.convert_model(str(onnx_file(model)))
    openvino.save_model(net, str(path), compress_to_fp16=False)
    return path
