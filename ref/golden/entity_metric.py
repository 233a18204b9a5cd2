"""Scores of entities as seqeval gives them, by conlleval's rules and strictly by each scheme."""

import json
import math
import random
import warnings
from pathlib import Path

from seqeval.metrics.sequence_labeling import precision_recall_fscore_support as by_default
from seqeval.metrics.v1 import precision_recall_fscore_support as by_scheme
from seqeval.scheme import BILOU, IOB1, IOB2, IOBES, IOE1, IOE2

LETTERS = {"IOB1": "IOB", "IOB2": "IOB", "IOE1": "IOE", "IOE2": "IOE", "IOBES": "IOBES", "BILOU": "BILOU"}
SCHEMES = {"IOB1": IOB1, "IOB2": IOB2, "IOE1": IOE1, "IOE2": IOE2, "IOBES": IOBES, "BILOU": BILOU}
TYPES = ["PER", "LOC", "ORG"]
# For conlleval's rules: letters alone, other letters, types with dashes or none.
ODD = ["O", "B", "I-", "X", "X-PER", "X-PER-A", "B-PER-A", "I-PER-A", ".", ".-LOC", "S-LOC", "E-LOC", "U-ORG", "é-PER", "-", "PER"]


def _tag(draw: random.Random, letters: str, types: list[str]) -> str:
    letter = draw.choice(letters + "O")
    return letter if letter == "O" else f"{letter}-{draw.choice(types)}"


def _sentences(seed: int, n: int, make) -> tuple[list[list[str]], list[list[str]]]:
    draw = random.Random(seed)
    expected = [[make(draw) for _ in range(draw.randint(1, 9))] for _ in range(n)]
    found = [[tag if draw.random() < 0.8 else make(draw) for tag in sentence] for sentence in expected]
    return expected, found


def _cases():
    default = [
        ("the manual's", [["O", "O", "O", "B-MISC", "I-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O"]],
         [["O", "O", "B-MISC", "I-MISC", "I-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O"]]),
        ("none anywhere", [["O", "O"]], [["O", "O"]]),
        ("none expected", [["O", "O", "O"]], [["B-PER", "O", "I-LOC"]]),
        ("none found", [["B-PER", "I-PER"], ["B-LOC"]], [["O", "O"], ["O"]]),
        ("starts inside", [["I-PER", "I-PER"], ["I-PER"]], [["I-PER", "B-PER"], ["I-PER"]]),
        ("random", *_sentences(1, 60, lambda d: _tag(d, "BI", TYPES))),
        ("random, all letters", *_sentences(2, 60, lambda d: _tag(d, "BIESU", TYPES))),
        ("random, twelve types", *_sentences(3, 80, lambda d: _tag(d, "BI", [f"T{i}" for i in range(12)]))),
        ("odd tags", *_sentences(4, 60, lambda d: d.choice(ODD))),
        ("odd tags first", [["X", "O"], ["X", "O", "X", "B-PER"]], [["X", "B-PER"], ["O", "X", "B", "B-PER"]]),
    ]
    for what, expected, found in default:
        yield "default", what, expected, found
    for seed, (name, letters) in enumerate(LETTERS.items()):
        yield name, "random", *_sentences(10 + seed, 50, lambda d, letters=letters: _tag(d, letters, TYPES))
        yield name, "dashes", *_sentences(20 + seed, 20, lambda d, letters=letters: _tag(d, letters, ["-A-", "A", ""]))
        yield name, "none anywhere", [["O"]], [["O"]]


def _number(x) -> float | None:
    return None if math.isnan(x) else float(x)


def _line(scheme: str, what: str, expected, found) -> dict:
    def scores(average, zero_division):
        if scheme == "default":
            return by_default(expected, found, average=average, zero_division=zero_division)
        return by_scheme(expected, found, average=average, zero_division=zero_division, scheme=SCHEMES[scheme])

    types = [list(map(float, row)) for row in zip(*scores(None, 0))]
    averages = {
        str(zero): {a: [_number(x) for x in scores(a, zero)[:3]] for a in ("macro", "micro", "weighted")} for zero in (0, 1)
    }
    return {"scheme": scheme, "what": what, "expected": expected, "found": found, "types": types, "scores": averages}


def write_entity_metrics(path: Path) -> None:
    """{"scheme", "what", "expected", "found", "types": [[P, R, F1, number]] by name, "scores": {zero_division: {average: [P, R, F1]}}}."""
    with open(path, "w", encoding="utf-8") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in _cases():
            file.write(json.dumps(_line(*case), ensure_ascii=False) + "\n")
