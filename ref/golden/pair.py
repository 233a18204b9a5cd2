"""Labels of pairs by text-classification: what a folder says of its tokenizer decides whether the model is told their segments."""

import json
import shutil
import tempfile
from pathlib import Path

from transformers import pipeline

PAIRS = [("the cat plays with him", "a dog"), ("music", "they said she could not"), ("a", "when it was new"), ("", "the cat"), ("the cat", "")]
SEGMENTS = ["input_ids", "token_type_ids", "attention_mask"]
# Changes of tokenizer_config.json (None: the file is not there; a value None: the key is not) and of config.json.
FOLDERS = [
    ({}, {}),
    ({"tokenizer_class": None}, {}),
    (None, {}),
    ({"tokenizer_class": "BertTokenizer"}, {}),
    ({"tokenizer_class": "BertTokenizerFast"}, {}),
    ({"tokenizer_class": "ElectraTokenizerFast"}, {}),
    ({"tokenizer_class": "ConvBertTokenizer"}, {}),
    ({"tokenizer_class": "DistilBertTokenizer"}, {}),
    ({"tokenizer_class": "Unheard"}, {}),
    ({"model_input_names": SEGMENTS}, {}),
    ({"tokenizer_class": "BertTokenizer", "model_input_names": ["input_ids", "attention_mask"]}, {}),
    ({"tokenizer_class": None}, {"tokenizer_class": "PreTrainedTokenizerFast"}),
    ({"tokenizer_class": None}, {"tokenizer_class": "BertTokenizer"}),
]


def _change(path: Path, values: dict[str, object] | None) -> None:
    if values is None:
        path.unlink()
        return
    kept = {**json.loads(path.read_text()), **values}
    path.write_text(json.dumps({key: value for key, value in kept.items() if value is not None}))


def write_pairs(root: Path) -> None:
    """pair.jsonl, {"tokenizer_config", "config", "pairs": [{"text", "text_pair", "labels"}]}: bert-head-nli with these files."""
    with open(root / "pair.jsonl", "w", encoding="utf-8") as file:
        for tokenizer, model in FOLDERS:
            with tempfile.TemporaryDirectory() as folder:
                copy = Path(folder) / "model"
                shutil.copytree(root / "bert-head-nli", copy)
                _change(copy / "tokenizer_config.json", tokenizer)
                _change(copy / "config.json", model)
                files = [json.loads(path.read_text()) if path.exists() else None
                         for path in (copy / "tokenizer_config.json", copy / "config.json")]
                classify = pipeline("text-classification", model=str(copy), top_k=None)
                pairs = [{"text": text, "text_pair": pair, "labels": classify({"text": text, "text_pair": pair})} for text, pair in PAIRS]
                file.write(json.dumps({"tokenizer_config": files[0], "config": files[1], "pairs": pairs}) + "\n")
