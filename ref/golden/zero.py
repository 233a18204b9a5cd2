"""Labels chosen by the caller, by the zero-shot-classification pipeline."""

import json
import random
import shutil
import tempfile
from pathlib import Path

from transformers import pipeline

from golden.text import PLAIN, UNICODE

INPUTS = 10  # of each folder
WORDS = ["cat", "dog", "music", "politics", "the two running dogs", "not it", "naïve", "she"]
# Changes of bert-head-nli's config.json: the label that stands for entailment is found by its name, else the last.
FOLDERS: list[dict[str, object]] = [
    {},
    {"label2id": {"ENTAILMENT": 0, "neutral": 1, "contradiction": 2}},
    {"label2id": {"no": 0, "maybe": 1, "yes": 2}},
    {"label2id": {"not_entailment": 1, "entails": 1, "entailment": 2}},
    {"label2id": {"contradiction": 0, "Entail": 1, "neutral": 2}},
]


def _case(rng: random.Random, at: int) -> dict[str, object]:
    texts = [text for text in PLAIN + UNICODE if text.strip() and "\x00" not in text]
    labels = rng.sample(WORDS, rng.randint(1, 5))
    if at % 3 == 0:
        labels.append(labels[0])  # equal scores
    case: dict[str, object] = {"sequence": rng.choice(texts), "candidate_labels": labels, "multi_label": rng.random() < 0.4}
    if at % 4 == 1:
        case["hypothesis_template"] = rng.choice(["{}", "it was {0}, {0}", "{{}} {} }}", "they said {}"])
    if at % 5 == 2:
        case["sequence"] = "they said she could not be there when it was new " * 3  # is cut, the label not
    if at == 9:  # nothing can be cut, but the model has two positions more than the tokenizer says
        case.update(sequence="a", candidate_labels=["dog", "a " * 24 + "a"], hypothesis_template="{}")
    return case


def write_zero(root: Path) -> None:
    """zero_shot.jsonl, {"config", "cases": [{"sequence", "candidate_labels", "multi_label", "hypothesis_template", "result"}]}."""
    rng = random.Random(37)
    with open(root / "zero_shot.jsonl", "w", encoding="utf-8") as file:
        for change in FOLDERS:
            with tempfile.TemporaryDirectory() as folder:
                copy = Path(folder) / "model"
                shutil.copytree(root / "bert-head-nli", copy)
                config = {**json.loads((copy / "config.json").read_text()), **change}
                (copy / "config.json").write_text(json.dumps(config))
                classify = pipeline("zero-shot-classification", model=str(copy))
                cases = [_case(rng, at) for at in range(INPUTS)]
                for case in cases:
                    case["result"] = classify(case["sequence"], **{key: case[key] for key in case if key != "sequence"})
                file.write(json.dumps({"config": config, "cases": cases}) + "\n")
