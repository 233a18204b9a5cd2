"""Answers compared as SQuAD 2.0's script does, which transformers 4 carries: needs requirements-4.txt."""

import json
import random
from pathlib import Path

from transformers.data.metrics.squad_metrics import compute_exact, compute_f1, normalize_answer

PIECES = ["the", "The", "a", "an", "cat", "Cat", "dog.", "U.S.", "it's", "1,000", "a-b", "theme", "an_a", "\u00c9t\u00e9", "e\u0301", "A\u0301",
          "\u0391\u03a3", "\u03a3\u0391", "\u0130x", "\u4e2d\u6587", "\u00a0", "\u3000", "\t", "\u2014", "\u00bf", "$5", "\u00bd", "\u2160", "the\u2014a", "\u200b", "\u00df", "THE!"]
REPORTED = [
    ("", []), ("", [""]), ("the", []), ("cat", []), ("", ["cat"]), ("the", ["cat", "a"]), ("cat", ["the"]), ("the cat", ["A cat!", "dog"]),
    ("Denver Broncos", ["Denver Broncos", "the Denver Broncos"]), ("a a a b", ["a b b", "b"]), ("x y x", ["x x z"]),
]


def _match(found: str, answers: list[str]) -> tuple[float, float]:
    answers = [a for a in answers if normalize_answer(a)] or [""]
    return max(float(compute_exact(a, found)) for a in answers), max(float(compute_f1(a, found)) for a in answers)


def write_answer_metrics(path: Path) -> None:
    """{"found", "expected", "exact", "f1"}."""
    draw = random.Random(1)
    cases = list(REPORTED)
    for _ in range(150):
        texts = [draw.choice(["", " "]).join(draw.choices(PIECES, k=draw.randint(0, 6))) for _ in range(draw.randint(1, 4))]
        answers = [text if draw.random() < 0.7 else texts[0].swapcase() for text in texts[1:]]
        cases.append((texts[0], answers))
    with open(path, "w", encoding="utf-8") as file:
        for found, answers in cases:
            exact, f1 = _match(found, answers)
            file.write(json.dumps({"found": found, "expected": answers, "exact": exact, "f1": f1}) + "\n")
