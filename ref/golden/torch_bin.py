"""Files of torch.save, in both its forms, and the same tensors as safetensors. The keys of legacy files are addresses, so
these differ from run to run in bytes that mean nothing."""

import json
import shutil
from collections import OrderedDict
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file


def _mixed() -> OrderedDict:
    """Every stored type, views of one storage, strides, tied names, empty and scalar tensors."""
    generator = torch.Generator().manual_seed(30)
    base = torch.randn(6, 8, generator=generator)
    tied = torch.nn.Parameter(torch.randn(3, 4, generator=generator))
    state = OrderedDict(
        base=base,
        rows=base[1:4],
        part=base[2:5, 1:7:2],
        turned=base.t(),
        permuted=torch.randn(2, 3, 4, generator=generator).permute(2, 0, 1),
        expanded=torch.randn(3, 1, generator=generator).expand(3, 4),
        tied=tied,
        tied_again=tied,
        half=torch.randn(5, generator=generator).half(),
        brain=torch.randn(2, 3, generator=generator).bfloat16(),
        brain_turned=torch.randn(2, 3, generator=generator).bfloat16().t(),
        double=torch.randn(2, generator=generator, dtype=torch.float64),
        long=torch.arange(7).unsqueeze(0),
        int=torch.tensor([[-1, 2], [3, -4]], dtype=torch.int32).t(),
        short=torch.tensor([-300, 300], dtype=torch.int16),
        char=torch.tensor([-7, 8, 9], dtype=torch.int8),
        byte=torch.tensor([250, 1], dtype=torch.uint8),
        bool=torch.tensor([True, False, True]),
        scalar=torch.tensor(2.5),
        empty=torch.zeros(0, 3),
    )
    state["unsigned"] = torch.tensor([1, 2, 3], dtype=torch.int32).to(torch.uint32)
    state["name.with.ünicode"] = torch.ones(1)
    state._metadata = OrderedDict([("", {"version": 1}), ("layer", {"version": 2})])
    return state


def write_torch(folder: Path, models: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    state = _mixed()
    save_file({name: t.detach().clone().contiguous() for name, t in state.items()}, folder / "mixed.safetensors")
    torch.save(state, folder / "mixed.bin")
    torch.save(state, folder / "protocol4.bin", pickle_protocol=4)
    del state["unsigned"]  # the legacy form has no such type
    torch.save(state, folder / "legacy.bin", _use_new_zipfile_serialization=False)
    for name in ("bert-tiny", "bert-tiny-f16", "bert-tiny-bf16"):
        weights = load_file(models / name / "model.safetensors")
        torch.save(weights, folder / f"{name}.bin")
        if name == "bert-tiny":
            torch.save(weights, folder / f"{name}-legacy.bin", _use_new_zipfile_serialization=False)
            _write_shards(folder, weights)
    for path in folder.iterdir():
        path.chmod(0o644)


def _write_shards(folder: Path, weights: dict) -> None:
    names = sorted(weights)
    half = len(names) // 2
    placing = {}
    for i, part in enumerate((names[:half], names[half:]), 1):
        shard = f"pytorch_model-{i:05d}-of-00002.bin"
        torch.save({name: weights[name] for name in part}, folder / shard)
        placing.update(dict.fromkeys(part, shard))
    index = {"metadata": {"total_size": sum(t.nbytes for t in weights.values())}, "weight_map": placing}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")
