"""Tiny BERT folders and what the reference computes from them."""

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file as save_arrays
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from transformers import BertConfig, BertModel

from golden import weight
from golden.folder import Dense, Layout, write_json, write_layout
from golden.vocab import SPECIALS, bert_vocab, save_tokenizer

TEXTS = [
    "The cat plays with him.",
    "a",
    "",
    "   \t  ",
    "Music, guitar & two running dogs!",
    "they said she could not have been there when it was new",
    "中国 and the New dog",
    "Café müller naïve",
    "zzzz 🙂 unknown",
    "[MASK] is a special token [SEP] inside",
    "it's 1234567890 (100%)",
    "all of these words are more than the model can take because its positions end before the text does, so it is cut",
    "The man.\nThe woman.\r\nThe dog.",
    "cat",
]
HIDDEN_TEXTS = (0, 2, 6, 11)  # those whose token vectors are kept too
PAIR = ("The cat plays", "with him and her")


@dataclass
class Case:
    """One folder under test/golden/."""

    name: str
    what: str
    seed: int
    hidden: int = 12
    layers: int = 2
    heads: int = 2
    ffn: int = 20
    positions: int = 28
    types: int = 2
    act: str = "gelu"
    eps: float = 1e-12
    cased: bool = False
    specials: list[str] = field(default_factory=lambda: list(SPECIALS))
    with_json: bool = True  # tokenizer.json, not vocab.txt alone
    layout: Layout | None = field(default_factory=Layout)  # None: a plain transformers folder
    store: str = "float32"
    names: str = "plain"
    shards: int = 0
    states: bool = False  # keep every layer's output of the first text


def _cases() -> list[Case]:
    base = dict(hidden=32, heads=4, ffn=64)
    odd_specials = ["[UNK]", "[CLS]", "[unused0]", "[SEP]", "[unused1]", "[PAD]", "[MASK]"]
    cases = [
        Case("bert-tiny", "hidden 32, new folder style, every layer's output", 1, **base, positions=40, states=True,
             layout=Layout(new_style=True)),
        Case("bert-tiny-odd", "odd widths and three layers, other special ids, eps 1e-5", 2, hidden=36, layers=3,
             heads=3, ffn=52, positions=33, eps=1e-5, specials=odd_specials, states=True),
        Case("bert-tiny-gelu-new", "hidden_act gelu_new", 3, act="gelu_new"),
        Case("bert-tiny-relu", "hidden_act relu", 4, act="relu"),
        Case("bert-tiny-gelu-tanh", "hidden_act gelu_pytorch_tanh", 5, act="gelu_pytorch_tanh"),
        Case("bert-tiny-sharded", "three shards and an index", 6, shards=3),
        Case("bert-tiny-f16", "weights stored as F16", 7, **base, store="float16"),
        Case("bert-tiny-bf16", "weights stored as BF16", 8, **base, store="bfloat16"),
        Case("bert-tiny-gamma", "bert. prefix, gamma and beta, position_ids and heads stored", 9, names="old"),
        Case("bert-tiny-prefix", "bert. prefix and heads, as a masked-language checkpoint", 10, names="prefixed"),
        Case("bert-tiny-plain", "no modules.json: mean pooling, no normalising", 11, layout=None),
        Case("bert-tiny-cased", "cased tokenizer", 12, cased=True),
        Case("bert-tiny-vocab", "vocab.txt only, uncased", 13, with_json=False),
        Case("bert-tiny-vocab-cased", "vocab.txt only, cased by tokenizer_config.json", 14, with_json=False, cased=True),
        Case("bert-tiny-lower", "cased tokenizer lower-cased by sentence_bert_config.json", 15, cased=True,
             layout=Layout(lower_case=True)),
        Case("bert-tiny-one-type", "type_vocab_size 1, one layer", 16, types=1, layers=1),
        Case("bert-tiny-dense", "mean, dense with tanh, normalize", 17, layout=Layout(dense=Dense(7))),
        Case("bert-tiny-dense-identity", "cls and mean, dense without bias or activation, no normalize", 18,
             layout=Layout(new_style=True, pooling=("cls", "mean"), normalize=False,
                           dense=Dense(20, False, "torch.nn.modules.linear.Identity"))),
        Case("bert-tiny-prompts", "prompts, with a default", 19,
             layout=Layout(new_style=True, prompts={"query": "query: ", "document": "", "ask": "The man said "},
                           default_prompt="query")),
        Case("bert-tiny-prompt-left-out", "prompts kept out of the pooling, no default", 20,
             layout=Layout(include_prompt=False, prompts={"query": "query: ", "ask": "The man said "})),
    ]
    small = dict(hidden=8, layers=1, heads=2, ffn=12, positions=24)
    modes = ["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"]
    for i, mode in enumerate(modes):
        layout = Layout(pooling=(mode,), normalize=False, new_style=bool(i % 2), max_seq_length=16)
        name = "bert-tiny-pool-" + mode.replace("_tokens", "").replace("_", "-")
        cases.append(Case(name, f"pooling {mode}", 30 + i, **small, layout=layout))
    every = Layout(pooling=tuple(modes), normalize=True, max_seq_length=16)
    cases.append(Case("bert-tiny-pool-every", "six pooling modes in one vector", 40, **small, layout=every))
    return cases


CASES = _cases()


def write_case(root: Path, case: Case) -> None:
    folder = root / case.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _write_model(folder, case)
    with open(folder / "texts.jsonl", "w", encoding="utf-8") as file:
        for text in TEXTS:
            file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
    arrays = _expected(folder, case)
    save_arrays(arrays, folder / "expected.safetensors", metadata={"case": case.what})
    (folder / "expected.safetensors").chmod(0o644)


def _write_model(folder: Path, case: Case) -> None:
    vocab = bert_vocab(case.cased, case.specials)
    config = BertConfig(
        vocab_size=len(vocab),
        hidden_size=case.hidden,
        num_hidden_layers=case.layers,
        num_attention_heads=case.heads,
        intermediate_size=case.ffn,
        hidden_act=case.act,
        max_position_embeddings=case.positions,
        type_vocab_size=case.types,
        layer_norm_eps=case.eps,
        pad_token_id=vocab.index("[PAD]"),
    )
    state = weight.random_state(BertModel(config), case.seed)
    state = weight.round_state(state, getattr(torch, case.store))
    head = "BertModel"
    if case.names != "plain":
        head = "BertForMaskedLM" if case.names == "prefixed" else "BertForPreTraining"
        state = weight.prefixed(state, config, case.seed)
    if case.names == "old":
        state = weight.old_names(state)
        state["bert.embeddings.position_ids"] = torch.arange(case.positions).unsqueeze(0)
    if case.shards:
        weight.save_sharded(folder, state, case.shards)
    else:
        weight.save_single(folder, state)
    values = {**config.to_diff_dict(), "architectures": [head], "dtype": case.store}
    write_json(folder / "config.json", values)
    layout = case.layout
    length = layout.max_seq_length if layout else case.positions
    save_tokenizer(folder, vocab, length, lowercase=not case.cased, with_json=case.with_json)
    if layout:
        write_layout(folder, layout, case.hidden)
        if layout.dense:
            _write_dense(folder, layout, case)


def _write_dense(folder: Path, layout: Layout, case: Case) -> None:
    dense = layout.dense
    assert dense is not None
    generator = torch.Generator().manual_seed(case.seed + 1000)
    width = case.hidden * len(layout.pooling)
    state = {"linear.weight": torch.randn(dense.out_features, width, generator=generator) / width**0.5}
    if dense.bias:
        state["linear.bias"] = torch.randn(dense.out_features, generator=generator) * 0.3
    save_file(state, folder / "2_Dense" / "model.safetensors", metadata={"format": "pt"})
    (folder / "2_Dense" / "model.safetensors").chmod(0o644)


def _expected(folder: Path, case: Case) -> dict[str, np.ndarray]:
    """Everything computed in double precision from the stored weights, rounded once at the end."""
    model = SentenceTransformer(str(folder), device="cpu", model_kwargs={"dtype": torch.float32}).double().eval()
    arrays: dict[str, np.ndarray] = {}
    for i in HIDDEN_TEXTS:
        ids, states = _hidden(model, TEXTS[i])
        arrays[f"ids.{i}"] = ids
        arrays[f"hidden.{i}"] = states[-1]
        if case.states and i == 0:
            arrays.update({f"state.{k}": s for k, s in enumerate(states)})
    if case.types > 1:
        arrays.update(_pair(model))
    arrays["embedding"] = model.encode(TEXTS, batch_size=5)
    layout = case.layout
    if layout and layout.prompts:
        for name in layout.prompts:
            arrays[f"embedding.{name}"] = model.encode(TEXTS, prompt_name=name)
        arrays["embedding.none"] = model.encode(TEXTS, prompt="")
    out = {}
    for name, array in arrays.items():
        assert np.isfinite(array).all(), (case.name, name)
        integer = np.issubdtype(array.dtype, np.integer)
        assert integer or array.dtype == np.float64, (case.name, name, array.dtype)
        out[name] = np.ascontiguousarray(array.astype(np.int32 if integer else np.float32))
    return out


def _hidden(model: SentenceTransformer, text: str) -> tuple[np.ndarray, list[np.ndarray]]:
    features = model.preprocess([text]) if hasattr(model, "preprocess") else model.tokenize([text])
    inputs = {k: features[k] for k in ("input_ids", "attention_mask", "token_type_ids")}
    with torch.no_grad():
        result = model[0].auto_model(**inputs, output_hidden_states=True)
    return inputs["input_ids"][0].numpy(), [s[0].numpy() for s in result.hidden_states]


def _pair(model: SentenceTransformer) -> dict[str, np.ndarray]:
    inputs = model.tokenizer(*PAIR, return_tensors="pt")
    with torch.no_grad():
        hidden = model[0].auto_model(**inputs).last_hidden_state[0]
    return {
        "pair.ids": inputs["input_ids"][0].numpy(),
        "pair.type_ids": inputs["token_type_ids"][0].numpy(),
        "pair.hidden": hidden.numpy(),
    }
