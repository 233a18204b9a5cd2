"""The small JSON files round the weights: how sentence-transformers lays out a model folder, old and new."""

import json
from dataclasses import dataclass, field
from pathlib import Path

# The classes that modules.json names: as sentence-transformers 2 to 5 wrote them, and as 6 writes them.
_OLD_TYPES = {
    "Transformer": "sentence_transformers.models.Transformer",
    "Pooling": "sentence_transformers.models.Pooling",
    "Dense": "sentence_transformers.models.Dense",
    "Normalize": "sentence_transformers.models.Normalize",
}
_NEW_TYPES = {
    "Transformer": "sentence_transformers.base.modules.transformer.Transformer",
    "Pooling": "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
    "Dense": "sentence_transformers.base.modules.dense.Dense",
    "Normalize": "sentence_transformers.base.modules.normalize.Normalize",
}
# Pooling modes in the order in which the reference concatenates them, with their old flag.
POOLING_FLAGS = {
    "cls": "pooling_mode_cls_token",
    "max": "pooling_mode_max_tokens",
    "mean": "pooling_mode_mean_tokens",
    "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
    "weightedmean": "pooling_mode_weightedmean_tokens",
    "lasttoken": "pooling_mode_lasttoken",
}


@dataclass
class Dense:
    out_features: int
    bias: bool = True
    activation: str = "torch.nn.modules.activation.Tanh"


@dataclass
class Layout:
    """What follows the encoder, and how the folder says so."""

    new_style: bool = False
    pooling: tuple[str, ...] = ("mean",)
    include_prompt: bool = True
    dense: Dense | None = None
    normalize: bool = True
    lower_case: bool = False  # sentence_bert_config.json's own do_lower_case
    max_seq_length: int = 24
    prompts: dict[str, str] = field(default_factory=dict)
    default_prompt: str | None = None


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def pooling_config(layout: Layout, width: int) -> dict[str, object]:
    if layout.new_style:
        mode: object = layout.pooling[0] if len(layout.pooling) == 1 else list(layout.pooling)
        return {"embedding_dimension": width, "pooling_mode": mode, "include_prompt": layout.include_prompt}
    flags = {flag: mode in layout.pooling for mode, flag in POOLING_FLAGS.items()}
    config: dict[str, object] = {"word_embedding_dimension": width, **flags}
    if not layout.include_prompt:
        config["include_prompt"] = False
    return config


def write_layout(folder: Path, layout: Layout, width: int) -> None:
    """modules.json and the files of every module but the encoder's weights and the dense layer's."""
    types = _NEW_TYPES if layout.new_style else _OLD_TYPES
    kinds = ["Transformer", "Pooling"] + ["Dense"] * bool(layout.dense) + ["Normalize"] * layout.normalize
    modules = []
    for i, kind in enumerate(kinds):
        path = "" if i == 0 else f"{i}_{kind}"
        modules.append({"idx": i, "name": str(i), "path": path, "type": types[kind]})
        if kind == "Pooling":
            write_json(folder / path / "config.json", pooling_config(layout, width))
        elif kind == "Dense":
            write_json(folder / path / "config.json", dense_config(layout, width))
        elif kind == "Normalize" and layout.new_style:
            names = {"module_input_name": "sentence_embedding", "module_output_name": "sentence_embedding"}
            write_json(folder / path / "config.json", names)
    write_json(folder / "modules.json", modules)
    if layout.new_style:
        task = {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}
        encoder = {
            "transformer_task": "feature-extraction",
            "modality_config": task,
            "module_output_name": "token_embeddings",
        }
    else:
        encoder = {"max_seq_length": layout.max_seq_length, "do_lower_case": layout.lower_case}
    write_json(folder / "sentence_bert_config.json", encoder)
    write_json(folder / "config_sentence_transformers.json", root_config(layout))


def dense_config(layout: Layout, width: int) -> dict[str, object]:
    dense = layout.dense
    assert dense is not None
    config: dict[str, object] = {
        "in_features": width * len(layout.pooling),
        "out_features": dense.out_features,
        "bias": dense.bias,
        "activation_function": dense.activation,
    }
    if layout.new_style:
        config.update(module_input_name="sentence_embedding", module_output_name="sentence_embedding")
    return config


def root_config(layout: Layout) -> dict[str, object]:
    if not layout.new_style and not layout.prompts:
        return {"__version__": {"sentence_transformers": "2.0.0", "transformers": "4.6.1", "pytorch": "1.8.1"}}
    config: dict[str, object] = {
        "__version__": {"sentence_transformers": "6.2.0", "transformers": "5.24.0", "pytorch": "2.15.0"},
        "prompts": layout.prompts,
        "default_prompt_name": layout.default_prompt,
        "similarity_fn_name": "cosine",
    }
    if layout.new_style:
        config["model_type"] = "SentenceTransformer"
    return config
