"""Scores of classes as scikit-learn gives them: counts of each class, and what averages make of them."""

import json
import math
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import matthews_corrcoef, mean_squared_error, multilabel_confusion_matrix
from sklearn.metrics import precision_recall_fscore_support


def _drawn(seed: int, n: int, classes: int, share: float) -> tuple[list[int], list[int]]:
    draw = np.random.default_rng(seed)
    expected = draw.integers(classes, size=n)
    found = np.where(draw.uniform(size=n) < share, expected, draw.integers(classes, size=n))
    return expected.tolist(), found.tolist()


def _single() -> list[tuple[str, list[int], list[int]]]:
    return [
        ("two classes", [0, 1, 1, 0, 1, 1, 0], [0, 1, 0, 1, 1, 1, 0]),
        ("all right", [0, 1, 2, 1], [0, 1, 2, 1]),
        ("all wrong", [0, 1, 2, 1], [1, 2, 0, 0]),
        ("one class", [0, 0, 0], [0, 0, 0]),
        ("one class expected", [1, 1, 1, 1], [0, 1, 1, 0]),
        ("one class found", [0, 1, 2, 1], [1, 1, 1, 1]),
        ("one example", [0], [0]),
        ("a class never found, one never expected", [0, 0, 1, 2], [0, 3, 0, 2]),
        ("three classes", *_drawn(1, 50, 3, 0.5)),
        ("nine classes", *_drawn(2, 300, 9, 0.6)),  # eight sums side by side, and one more
        ("150 classes", *_drawn(3, 4000, 150, 0.7)),  # two halves
        ("400 classes, few examples", *_drawn(4, 600, 400, 0.3)),
    ]


def _many() -> list[tuple[str, list[list[int]], list[list[int]]]]:
    draw = np.random.default_rng(5)
    expected = (draw.uniform(size=(80, 6)) < 0.3).astype(int)
    found = np.where(draw.uniform(size=(80, 6)) < 0.8, expected, 1 - expected)
    expected[:, 4] = 0
    expected[:, 5] = found[:, 5] = 0
    return [
        ("several labels", expected.tolist(), found.tolist()),
        ("no labels", [[0, 0], [0, 0]], [[0, 0], [0, 0]]),
    ]


def _number(x: float) -> float | None:
    return None if math.isnan(x) else float(x)


def _scores(expected, found) -> dict:
    out = {}
    for name, undefined in (("0", 0.0), ("1", 1.0), ("nan", np.nan)):
        out[name] = {
            average: [
                _number(x)
                for x in precision_recall_fscore_support(expected, found, average=average, zero_division=undefined)[:3]
            ]
            for average in ("macro", "micro", "weighted")
        }
    return out


def _line(what: str, expected, found, matthews: float | None) -> str:
    table = multilabel_confusion_matrix(expected, found)
    counts = [[int(c[1, 1]), int(c[1, 1] + c[0, 1]), int(c[1, 1] + c[1, 0])] for c in table]
    return json.dumps({"what": what, "counts": counts, "scores": _scores(expected, found), "matthews": matthews})


def write_class_metrics(path: Path) -> None:
    """{"what", "counts": [[correct, found, expected]], "scores": {zero_division: {average: [P, R, F1]}}, "matthews"};
    null where undefined or not defined for several labels. Then {"what", "x", "y", "squared_error"}."""
    with open(path, "w", encoding="utf-8") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for what, expected, found in _single():
            file.write(_line(what, expected, found, matthews_corrcoef(expected, found)) + "\n")
        for what, expected, found in _many():
            file.write(_line(what, np.array(expected), np.array(found), None) + "\n")
        for n in (1, 5, 8, 20, 300):
            x, y = (np.round(np.random.default_rng(n + k).normal(size=n), 6) for k in (0, 1))
            line = {"what": f"{n} numbers", "x": x.tolist(), "y": y.tolist()}
            file.write(json.dumps(line | {"squared_error": mean_squared_error(y, x)}) + "\n")
