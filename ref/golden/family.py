"""Tiny random models of every family and head, and the hidden states and logits that the reference computes."""

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.numpy import save_file as save_arrays
from tokenizers import processors

from golden import weight
from golden.folder import write_json
from golden.vocab import SPECIALS, bert_tokenizer, bert_vocab

CLASSES = {
    "bert": "Bert",
    "roberta": "Roberta",
    "xlm-roberta": "XLMRoberta",
    "camembert": "Camembert",
    "distilbert": "DistilBert",
    "albert": "Albert",
    "mpnet": "MPNet",
    "electra": "Electra",
}
HEADS = {
    "base": "Model",
    "classify": "ForSequenceClassification",
    "tag": "ForTokenClassification",
    "answer": "ForQuestionAnswering",
    "mask": "ForMaskedLM",
}
# Families whose positions start behind the pad id, and whose template has no segments.
SHIFTED = ("roberta", "xlm-roberta", "camembert", "mpnet")
TEXTS = [
    "The cat plays with him.",
    "a",
    "they said she could not [MASK] been there when it was new",
    "Music, guitar & two running dogs!",
]
PAIR = ("The cat plays", "with him and her")


@dataclass
class Family:
    """One folder under test/golden/."""

    name: str
    what: str
    model_type: str
    head: str
    seed: int
    config: dict[str, object] = field(default_factory=dict)
    texts: list[str] = field(default_factory=lambda: list(TEXTS))
    labels: list[str] = field(default_factory=list)
    specials: list[str] = field(default_factory=lambda: list(SPECIALS))
    length: int = 24


def sizes(model_type: str) -> dict[str, object]:
    if model_type == "distilbert":
        return {"dim": 12, "n_layers": 2, "n_heads": 2, "hidden_dim": 20, "max_position_embeddings": 28}
    base: dict[str, object] = {
        "hidden_size": 12,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 20,
        "max_position_embeddings": 30,
    }
    if model_type in ("roberta", "xlm-roberta", "camembert"):
        base.update(type_vocab_size=1, layer_norm_eps=1e-5)
    if model_type in ("albert", "electra"):
        base["embedding_size"] = 12
    return base


def _families() -> list[Family]:
    cases = []
    seed = 100
    for model_type in CLASSES:
        for head in HEADS:
            seed += 1
            if model_type == "camembert" and head != "classify":
                continue
            if model_type == "bert" and head == "base":
                continue
            labels = {"classify": ["NEGATIVE", "NEUTRAL", "POSITIVE"], "tag": ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]}
            # bert-tiny-* are the folders of model.py.
            name = f"bert-head-{head}" if model_type == "bert" else f"{model_type}-tiny-{head}"
            cases.append(Family(name, f"{model_type}, head {head}", model_type, head, seed,
                                labels=labels.get(head, [])))
    long = " ".join(["the cat and the dog were there before it was new again"] * 17)
    groups = dict(num_hidden_layers=5, num_hidden_groups=2, inner_group_num=2, embedding_size=8)
    odd = ["[UNK]", "[CLS]", "[unused0]", "[SEP]", "[unused1]", "[PAD]", "[MASK]"]
    pads = ["The [PAD] cat [PAD] [PAD] plays with", "[PAD]", "a [PAD]"]
    cases += [
        Family("albert-tiny-groups", "five layers from two groups of two, embeddings of 8", "albert", "mask", 201, groups),
        Family("electra-tiny-narrow", "embeddings of 8", "electra", "mask", 202, dict(embedding_size=8)),
        Family("electra-tiny-narrow-classify", "embeddings of 8", "electra", "classify", 223, dict(embedding_size=8),
               labels=["no", "yes"]),
        Family("mpnet-tiny-far", "distances past every bucket", "mpnet", "tag", 204,
               dict(max_position_embeddings=200), texts=[long], labels=["O", "X"], length=190),
        Family("mpnet-tiny-pad", "id 1, which has no position of its own, is [CLS]", "mpnet", "classify", 205, specials=odd, texts=pads,
               labels=["a", "b"]),
        Family("roberta-tiny-pad", "pad id 5, pads in the text", "roberta", "classify", 206, specials=odd, texts=pads,
               labels=["a", "b"]),
        Family("roberta-tiny-types", "two segments", "roberta", "tag", 207, dict(type_vocab_size=2), labels=["O", "X"]),
        Family("bert-head-one", "one label", "bert", "classify", 208, labels=["score"]),
        Family("bert-head-multi", "several labels at once", "bert", "classify", 209,
               dict(problem_type="multi_label_classification"), labels=["toxic", "rude", "threat", "spam"]),
        Family("bert-head-regression", "a regression", "bert", "classify", 210, dict(problem_type="regression"),
               labels=["grade"]),
        Family("bert-head-untied", "a decoder of its own", "bert", "mask", 211, dict(tie_word_embeddings=False)),
        Family("distilbert-tiny-sinusoidal", "fixed positions, relu", "distilbert", "base", 212,
               dict(sinusoidal_pos_embds=True, activation="relu")),
        Family("bert-head-nli", "natural language inference", "bert", "classify", 213,
               labels=["contradiction", "neutral", "entailment"], length=28),
    ]
    return cases


FAMILIES = _families()


def tokenizer_of(case: Family) -> transformers.PreTrainedTokenizerFast:
    vocab = bert_vocab(specials=case.specials)
    tok = bert_tokenizer(vocab)
    if case.model_type in SHIFTED or case.model_type == "distilbert":
        ids = {token: i for i, token in enumerate(vocab)}
        pair = "[CLS]:0 $A:0 [SEP]:0 [SEP]:0 $B:0 [SEP]:0"
        if case.config.get("type_vocab_size") == 2:
            pair = "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1"
        tok.post_processor = processors.TemplateProcessing(
            single="[CLS]:0 $A:0 [SEP]:0", pair=pair,
            special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tok, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]",
        mask_token="[MASK]", model_max_length=case.length, clean_up_tokenization_spaces=False)


def build(case: Family) -> torch.nn.Module:
    vocab = bert_vocab(specials=case.specials)
    config_class = getattr(transformers, CLASSES[case.model_type] + "Config")
    values = {**sizes(case.model_type), **case.config}
    if case.labels:
        values["id2label"] = dict(enumerate(case.labels))
        values["label2id"] = {label: i for i, label in enumerate(case.labels)}
    config = config_class(vocab_size=len(vocab), pad_token_id=vocab.index("[PAD]"), **values)
    model = getattr(transformers, CLASSES[case.model_type] + HEADS[case.head])(config)
    weight.random_state(model, case.seed)
    model.tie_weights()
    return model.eval()


def write_family(root: Path, case: Family) -> None:
    folder = root / case.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model = build(case)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    tokenizer = tokenizer_of(case)
    (folder / "tokenizer.json").write_text(tokenizer.backend_tokenizer.to_str(pretty=False), encoding="utf-8")
    write_json(folder / "tokenizer_config.json", {
        "cls_token": "[CLS]", "mask_token": "[MASK]", "model_max_length": case.length, "pad_token": "[PAD]",
        "sep_token": "[SEP]", "unk_token": "[UNK]", "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False})
    save_arrays(_expected(case, model, tokenizer), folder / "expected.safetensors", metadata={"case": case.what})
    for path in folder.iterdir():
        path.chmod(0o644)


def _expected(case: Family, model: torch.nn.Module, tokenizer) -> dict[str, np.ndarray]:
    """Computed in double precision from the stored weights, rounded once at the end."""
    model = model.double()
    arrays: dict[str, np.ndarray] = {}
    for i, text in enumerate(case.texts + [PAIR]):
        given = text if isinstance(text, tuple) else (text,)
        inputs = tokenizer(*given, return_tensors="pt", truncation=True)
        if case.model_type in ("distilbert", "mpnet"):
            inputs.pop("token_type_ids", None)
        arrays[f"ids.{i}"] = inputs["input_ids"][0].numpy()
        if "token_type_ids" in inputs:
            arrays[f"types.{i}"] = inputs["token_type_ids"][0].numpy()
        with torch.no_grad():
            result = model(**inputs, output_hidden_states=True)
        arrays[f"hidden.{i}"] = result.hidden_states[-1][0].numpy()
        if case.head == "answer":
            arrays[f"logits.{i}"] = torch.stack([result.start_logits[0], result.end_logits[0]], dim=-1).numpy()
        elif case.head == "mask":
            arrays[f"logits.{i}"] = result.logits[0, :3].numpy()
        elif case.head != "base":
            arrays[f"logits.{i}"] = result.logits[0].numpy()
    out = {}
    for name, array in arrays.items():
        integer = np.issubdtype(array.dtype, np.integer)
        assert integer or (array.dtype == np.float64 and np.isfinite(array).all()), (case.name, name)
        out[name] = np.ascontiguousarray(array.astype(np.int32 if integer else np.float32))
    return out
