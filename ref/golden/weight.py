"""Random weights for a tiny BERT, and the ways in which checkpoints store them."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import BertConfig

# Activations as spread as in a trained model: with the usual 0.02 every activation function is a straight line and
# attention is flat, so a wrong one would pass.
_LINEAR_GAIN = 1.6
_EMBEDDING_STD = 0.8
_BIAS_STD = 0.3
_NORM_STD = 0.2


def random_state(model: torch.nn.Module, seed: int) -> dict[str, torch.Tensor]:
    """Fills the model with reproducible weights and returns them in name order."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            noise = torch.randn(parameter.shape, generator=generator)
            if "LayerNorm" in name:
                parameter.copy_(noise * _NORM_STD + (1.0 if name.endswith("weight") else 0.0))
            elif "embeddings" in name:
                parameter.copy_(noise * _EMBEDDING_STD)
            elif name.endswith("bias"):
                parameter.copy_(noise * _BIAS_STD)
            else:
                parameter.copy_(noise * (_LINEAR_GAIN / parameter.shape[-1] ** 0.5))
    return {name: p.detach().clone().contiguous() for name, p in sorted(model.named_parameters())}


def round_state(state: dict[str, torch.Tensor], dtype: torch.dtype) -> dict[str, torch.Tensor]:
    return {name: tensor.to(dtype) for name, tensor in state.items()}


def old_names(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """LayerNorm.gamma and LayerNorm.beta, as checkpoints converted from TensorFlow have them."""

    def rename(name: str) -> str:
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma")
        return name.replace("LayerNorm.bias", "LayerNorm.beta")

    return {rename(name): tensor for name, tensor in state.items()}


def prefixed(state: dict[str, torch.Tensor], config: BertConfig, seed: int) -> dict[str, torch.Tensor]:
    """What a masked-language checkpoint stores: the encoder under "bert.", and the heads beside it."""
    generator = torch.Generator().manual_seed(seed)
    D, V = config.hidden_size, config.vocab_size
    heads = {
        "cls.predictions.bias": torch.randn(V, generator=generator),
        "cls.predictions.transform.dense.weight": torch.randn(D, D, generator=generator),
        "cls.predictions.transform.dense.bias": torch.randn(D, generator=generator),
        "cls.predictions.transform.LayerNorm.weight": torch.ones(D),
        "cls.predictions.transform.LayerNorm.bias": torch.zeros(D),
        "cls.seq_relationship.weight": torch.randn(2, D, generator=generator),
        "cls.seq_relationship.bias": torch.randn(2, generator=generator),
    }
    return {**{"bert." + name: tensor for name, tensor in state.items()}, **heads}


def save_single(folder: Path, state: dict[str, torch.Tensor]) -> None:
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)


def save_sharded(folder: Path, state: dict[str, torch.Tensor], shards: int) -> None:
    """Deals the tensors round the shards, so that neighbours in the model lie in different files."""
    names = sorted(state)
    weight_map: dict[str, str] = {}
    for i in range(shards):
        file = f"model-{i + 1:05d}-of-{shards:05d}.safetensors"
        part = {name: state[name] for name in names[i::shards]}
        save_file(part, folder / file, metadata={"format": "pt"})
        (folder / file).chmod(0o644)
        weight_map.update(dict.fromkeys(part, file))
    index = {
        "metadata": {"total_size": sum(t.numel() * t.element_size() for t in state.values())},
        "weight_map": dict(sorted(weight_map.items())),
    }
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")
