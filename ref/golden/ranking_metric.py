"""Rankings with ties, and what scikit-learn and sentence-transformers' evaluator make of them."""

import json
import random
from pathlib import Path

from sklearn.metrics import ndcg_score


def reciprocal_rank(relevance: list[float], scores: list[float], k: int) -> float:
    # The last of equal scores comes first, as in a stable argsort turned round.
    ranking = sorted(range(len(scores)), key=lambda i: scores[i])[::-1]
    for rank, i in enumerate(ranking[:k]):
        if relevance[i] > 0:
            return 1 / (rank + 1)
    return 0.0


def write_ranking_metrics(path: Path) -> None:
    """{"relevance", "scores", "k", "ndcg", "reciprocal_rank"}."""
    draw = random.Random(1)
    with open(path, "w", encoding="utf-8") as file:
        for case in range(60):
            n = draw.choice([2, 3, 5, 12, 40])
            graded = case % 3
            relevance = [float(draw.choice([0, 0, 1, 3][: 3 + graded // 2])) for _ in range(n)]
            scores = [round(draw.random(), 1 if case % 2 else 6) for _ in range(n)]
            if case == 7:
                relevance = [0.0] * n
            if case == 8:
                scores = [0.5] * n
            k = draw.choice([1, 3, 10, n])
            line = {"relevance": relevance, "scores": scores, "k": k}
            line["ndcg"] = float(ndcg_score([relevance], [scores], k=k))
            line["reciprocal_rank"] = reciprocal_rank(relevance, scores, k)
            file.write(json.dumps(line) + "\n")
