"""The texts of a corpus that are nearest to queries, by sentence-transformers."""

import json
import random
import shutil
import tempfile
from pathlib import Path

from sentence_transformers import SentenceTransformer, util

from golden.text import PLAIN, UNICODE

QUERIES = 10  # of each case
TEXTS = 12  # of a corpus
GAP = 2e-5  # between neighbouring scores, so that the order does not hang on rounding
PROMPTS = {"query": "the man said ", "document": "music, ", "passage": "never used "}
CASES: list[tuple[str, dict[str, object] | None, str, int]] = [
    ("bert-tiny", None, "cosine", 10),
    ("bert-tiny-prompts", None, "cosine", 3),
    ("bert-tiny", {"prompts": PROMPTS}, "dot", 5),
    ("bert-tiny", {"prompts": {"ask": "they said "}, "default_prompt_name": "ask"}, "euclidean", 4),
    ("bert-tiny", {"prompts": PROMPTS, "default_prompt_name": "passage"}, "manhattan", 100),
]
SIMILARITY = {"cosine": util.cos_sim, "dot": util.dot_score, "euclidean": util.euclidean_sim, "manhattan": util.manhattan_sim}


def _parted(hits: list[dict[str, float]]) -> bool:
    scores = [hit["score"] for hit in hits]
    return all(a - b > GAP for a, b in zip(scores, scores[1:]))


def _write_case(file: object, root: Path, case: tuple[str, dict[str, object] | None, str, int], rng: random.Random) -> None:
    folder, settings, similarity, top_k = case
    texts = [text for text in PLAIN + UNICODE if text.strip() and "\x00" not in text]
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "model"
        shutil.copytree(root / folder, copy)
        if settings is not None:
            (copy / "config_sentence_transformers.json").write_text(json.dumps(settings))
        model = SentenceTransformer(str(copy), device="cpu")
        queries = model.encode_query(texts, batch_size=1, convert_to_tensor=True)
        documents = model.encode_document(texts, batch_size=1, convert_to_tensor=True)
        found: list[dict[str, object]] = []
        while len(found) < QUERIES:
            query, corpus = rng.randrange(len(texts)), rng.sample(range(len(texts)), TEXTS)
            hits = util.semantic_search(queries[query], documents[corpus], corpus_chunk_size=5, top_k=TEXTS,
                                        score_function=SIMILARITY[similarity])[0]
            if _parted(hits):
                found.append({"query": texts[query], "corpus": [texts[i] for i in corpus], "hits": hits[:top_k]})
        line = {"folder": folder, "settings": settings, "similarity": similarity, "top_k": top_k, "searches": found}
        file.write(json.dumps(line) + "\n")


def write_search(root: Path) -> None:
    """search.jsonl, {"folder", "settings", "similarity", "top_k", "searches": [{"query", "corpus", "hits"}]}."""
    rng = random.Random(41)
    with open(root / "search.jsonl", "w", encoding="utf-8") as file:
        for case in CASES:
            _write_case(file, root, case, rng)
