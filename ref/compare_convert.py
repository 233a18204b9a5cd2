#!/usr/bin/env python3
"""Compares `sabok convert` with save_pretrained, on random models written as pytorch_model.bin.

    python ref/compare_convert.py build/sabok

For each family and head: the folder that sabok writes has the tensors, the shards and the index that save_pretrained writes,
and the model that transformers loads from it has the same state_dict. So it does in the narrower types.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import transformers as tf
from safetensors import safe_open

SIZES = dict(vocab_size=97, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=36,
             max_position_embeddings=40)
DISTIL = dict(vocab_size=97, dim=24, n_layers=2, n_heads=2, hidden_dim=36, max_position_embeddings=40)


def models():
    for tied in (True, False):
        keys = dict(SIZES, tie_word_embeddings=tied)
        yield tf.BertForMaskedLM(tf.BertConfig(**keys))
        yield tf.BertForPreTraining(tf.BertConfig(**keys))
        yield tf.RobertaForMaskedLM(tf.RobertaConfig(**keys))
        yield tf.XLMRobertaForMaskedLM(tf.XLMRobertaConfig(**keys))
        yield tf.CamembertForMaskedLM(tf.CamembertConfig(**keys))
        yield tf.MPNetForMaskedLM(tf.MPNetConfig(**keys))
        yield tf.ElectraForMaskedLM(tf.ElectraConfig(**keys, embedding_size=24))
        yield tf.AlbertForMaskedLM(tf.AlbertConfig(**keys, embedding_size=24))
        yield tf.DistilBertForMaskedLM(tf.DistilBertConfig(**DISTIL, tie_word_embeddings=tied))
    yield tf.BertForSequenceClassification(tf.BertConfig(**SIZES))
    yield tf.AlbertForTokenClassification(tf.AlbertConfig(**SIZES, embedding_size=16))
    yield tf.GPT2LMHeadModel(tf.GPT2Config(vocab_size=97, n_positions=40, n_embd=24, n_layer=2, n_head=2))
    yield tf.T5ForConditionalGeneration(tf.T5Config(vocab_size=97, d_model=24, d_kv=12, d_ff=36, num_layers=2, num_heads=2,
                                                    decoder_start_token_id=0))


def tensors(folder: Path) -> dict:
    found = {}
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, "pt") as file:
            assert file.metadata() == {"format": "pt"}, file.metadata()
            for name in file.keys():
                found[name] = (path.name, file.get_tensor(name))
    return found


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)


def compare(sabok: str, model, folder: Path, dtype: str | None, shard: str) -> list[str]:
    source, ours, theirs = folder / "source", folder / "ours", folder / "theirs"
    source.mkdir()
    model.config.architectures = [type(model).__name__]
    model.config.save_pretrained(source)
    torch.save(model.state_dict(), source / "pytorch_model.bin")
    options = ["--dtype", dtype] if dtype else []
    subprocess.run([sabok, "convert", source, ours, "--quiet", "--max_shard_size", shard, *options], check=True)
    if dtype:
        model = model.to(getattr(torch, dtype))
    model.save_pretrained(theirs, max_shard_size=shard)
    faults = []
    mine, wanted = tensors(ours), tensors(theirs)
    if mine.keys() != wanted.keys():
        faults.append(f"names {sorted(mine.keys() ^ wanted.keys())}")
    faults += [f"{n}: file or values" for n in mine.keys() & wanted.keys()
               if mine[n][0] != wanted[n][0] or not same(mine[n][1], wanted[n][1])]
    index = "model.safetensors.index.json"
    if (ours / index).exists() != (theirs / index).exists():
        faults.append("only one has an index")
    elif (ours / index).exists():
        a, b = json.loads((ours / index).read_text()), json.loads((theirs / index).read_text())
        if a["weight_map"] != b["weight_map"] or a["metadata"]["total_size"] != b["metadata"]["total_size"]:
            faults.append("index")
    state, want = (type(model).from_pretrained(saved).state_dict() for saved in (ours, theirs))
    if state.keys() != want.keys():
        faults.append("state_dict names")
    faults += [f"{n}: loaded" for n in state.keys() & want.keys() if not same(state[n], want[n])]
    return faults


def main() -> int:
    tf.logging.set_verbosity_error()
    torch.manual_seed(5)
    count = bad = 0
    for model in models():
        for dtype, shard in ((None, "5GB"), (None, "10KB"), ("float16", "5GB"), ("bfloat16", "5KB"), ("float32", "1KB")):
            with tempfile.TemporaryDirectory() as folder:
                faults = compare(sys.argv[1], model.float(), Path(folder), dtype, shard)
            count += 1
            bad += bool(faults)
            for fault in faults[:5]:
                print(f"{type(model).__name__} tied={model.config.tie_word_embeddings} {dtype} {shard}: {fault}")
    print(f"{count} folders compared, transformers {tf.__version__}: {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
