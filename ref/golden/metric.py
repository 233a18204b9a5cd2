"""Correlations of short series, ties and undefined ones among them, as scipy gives them."""

import json
import math
import warnings
from pathlib import Path

import numpy as np
from scipy import stats


def _series() -> list[tuple[str, list[float], list[float]]]:
    draw = np.random.default_rng(7)
    long_x = draw.normal(size=40)
    long_y = 0.6 * long_x + 0.8 * draw.normal(size=40)
    grades = np.round(draw.uniform(0, 5, size=60) * 4) / 4  # many ties, as human scores have
    return [
        ("plain", long_x.tolist(), long_y.tolist()),
        ("ties on one side", grades.tolist(), (grades + draw.normal(size=60)).tolist()),
        ("ties on both sides", [1, 2, 2, 3, 3, 3, 4], [2, 2, 1, 3, 3, 1, 5]),
        ("exact", [1, 2, 3, 4], [10, 20, 30, 40]),
        ("reversed", [1, 2, 3, 4], [4, 3, 2, 1]),
        ("monotone but curved", [1, 2, 3, 4, 5], [1, 8, 27, 64, 125]),
        ("large offset", [1e8 + 1, 1e8 + 2, 1e8 + 3, 1e8 + 4], [1, 3, 2, 4]),
        ("two points", [0, 1], [5, 3]),
        ("constant", [1, 1, 1], [1, 2, 3]),
        ("one point", [1], [2]),
        ("empty", [], []),
    ]


def _number(x: float) -> float | None:
    return None if math.isnan(x) else x


def write_metrics(path: Path) -> None:
    """{"what", "x", "y", "pearson", "spearman"}; null where the value is undefined."""
    with open(path, "w", encoding="utf-8") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for what, x, y in _series():
            pearson = spearman = math.nan
            if len(x) > 1:
                pearson = float(stats.pearsonr(x, y).statistic)
                spearman = float(stats.spearmanr(x, y).statistic)
            line = {"what": what, "x": x, "y": y, "pearson": _number(pearson), "spearman": _number(spearman)}
            file.write(json.dumps(line) + "\n")
