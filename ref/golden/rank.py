"""Documents in the order that a cross-encoder gives them."""

import json
import random
from pathlib import Path

import torch
from sentence_transformers import CrossEncoder

from golden.text import PLAIN, UNICODE

QUERIES = 50


def write_ranks(root: Path) -> None:
    """rerank.jsonl, {"query", "documents", "ranks", "logits"}: CrossEncoder.rank as the folder says, and with Identity."""
    encoder = CrossEncoder(str(root / "bert-head-one"), device="cpu")
    rng = random.Random(31)
    texts = [text for text in PLAIN + UNICODE if text.strip() and "\x00" not in text]
    with open(root / "rerank.jsonl", "w", encoding="utf-8") as file:
        for _ in range(QUERIES):
            query, *documents = rng.sample(texts, rng.randint(2, 6))
            documents.append(documents[0])  # equal scores keep their order
            line = {
                "query": query,
                "documents": documents,
                "ranks": encoder.rank(query, documents, return_documents=True, batch_size=1),
                "logits": encoder.rank(query, documents, activation_fn=torch.nn.Identity(), batch_size=1),
            }
            file.write(json.dumps(line) + "\n")
