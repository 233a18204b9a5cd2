#!/usr/bin/env python3
"""The reference's similarity scores on STS 2015: Spearman and Pearson of cosines, over all and for each subset.

    python ref/sts.py MODEL_FOLDER [--json]
"""

import argparse
import json
import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
from scipy import stats

from corpus import read_table


def scores(cosines: np.ndarray, rows: list[dict[str, str]]) -> list[dict[str, object]]:
    gold = np.array([float(row["score"]) for row in rows])
    subsets = np.array([row["subset"] for row in rows])
    out: list[dict[str, object]] = []
    for name in ["all", *sorted(set(subsets))]:
        chosen = np.ones(len(rows), bool) if name == "all" else subsets == name
        out.append(
            {
                "subset": name,
                "pairs": int(chosen.sum()),
                "spearman_cosine": float(stats.spearmanr(cosines[chosen], gold[chosen]).statistic),
                "pearson_cosine": float(stats.pearsonr(cosines[chosen], gold[chosen]).statistic),
            }
        )
    return out


def pair_cosines(vectors: np.ndarray) -> np.ndarray:
    """vectors [2 n, D]: the first sentences, then the second."""
    vectors = vectors.astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    half = len(vectors) // 2
    return (vectors[:half] * vectors[half:]).sum(axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    import torch
    from sentence_transformers import SentenceTransformer

    rows = read_table("sts15/test.tsv")
    model = SentenceTransformer(args.model, device="cpu", model_kwargs={"dtype": torch.float32})
    texts = [row["sentence1"] for row in rows] + [row["sentence2"] for row in rows]
    for line in scores(pair_cosines(model.encode(texts)), rows):
        if args.json:
            print(json.dumps(line))
        else:
            print("{subset:18} {pairs:5}  spearman {spearman_cosine:.6f}  pearson {pearson_cosine:.6f}".format(**line))


if __name__ == "__main__":
    main()
