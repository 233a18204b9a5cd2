#!/usr/bin/env python3
"""Compares `sabok run embed` with sentence-transformers on real text.

    python ref/compare_embed.py SABOK MODEL [--texts sts15 sst2 agnews] [--limit N] [--tolerance 1e-5]

Prints the largest absolute difference and the smallest cosine, and for sts15 the scores of both. Exit status 1 when a
difference is above the tolerance. The reference's vectors are kept in --cache and made once.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np

from corpus import read_table, read_texts
from sts import pair_cosines, scores


def reference_vectors(model: str, texts: list[str], cache: Path) -> np.ndarray:
    key = hashlib.sha256(json.dumps([str(Path(model).resolve()), texts]).encode()).hexdigest()[:16]
    path = cache / f"{key}.npy"
    if path.exists():
        return np.load(path)
    import torch
    from sentence_transformers import SentenceTransformer

    net = SentenceTransformer(model, device="cpu", model_kwargs={"dtype": torch.float32})
    vectors = net.encode(texts, batch_size=64)
    cache.mkdir(parents=True, exist_ok=True)
    np.save(path, vectors)
    return vectors


def sabok_vectors(sabok: str, model: str, texts: list[str], extra: list[str]) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "texts.jsonl", Path(folder) / "vectors.npy"
        with open(source, "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
        command = [sabok, "run", "embed", model, "--input", str(source), "--output", str(target), *extra]
        start = time.perf_counter()
        subprocess.run(command, check=True)
        seconds = time.perf_counter() - start
        print(f"  sabok: {seconds:.2f} s, {len(texts) / seconds:.0f} texts/s")
        return np.load(target)


def compare(name: str, want: np.ndarray, got: np.ndarray, texts: list[str], tolerance: float) -> bool:
    if want.shape != got.shape:
        print(f"{name}: shape {got.shape}, expected {want.shape}")
        return False
    difference = np.abs(want - got).max(axis=1)
    want, got = want.astype(np.float64), got.astype(np.float64)
    norms = np.linalg.norm(want, axis=1) * np.linalg.norm(got, axis=1)
    cosine = (want * got).sum(axis=1) / np.maximum(norms, 1e-30)
    print(f"{name}: {len(want)} texts, largest difference {difference.max():.3g}, smallest cosine {cosine.min():.9f}")
    good = bool(difference.max() <= tolerance)  # false for NaN too
    if not good:
        worst = int(np.nanargmax(difference))
        print(f"  text {worst}: --text {json.dumps(texts[worst])}")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sabok")
    parser.add_argument("model")
    parser.add_argument("--texts", nargs="*", default=["sts15", "sst2", "agnews"])
    parser.add_argument("--limit", type=int, default=0, help="the first N texts of each set; 0: all")
    parser.add_argument("--tolerance", type=float, default=1e-5)
    parser.add_argument("--cache", type=Path, default=Path("/tmp/sabok-reference-vectors"))
    parser.add_argument("--arg", action="append", default=[], help="passed on to sabok, e.g. --arg=--threads=1")
    args = parser.parse_args()

    good = True
    for name in args.texts:
        rows = []
        if name == "sts15":
            rows = read_table("sts15/test.tsv")[: args.limit or None]
            texts = [row["sentence1"] for row in rows] + [row["sentence2"] for row in rows]
        else:
            texts = read_texts(name)[: args.limit or None]
        want = reference_vectors(args.model, texts, args.cache)
        got = sabok_vectors(args.sabok, args.model, texts, args.arg)
        good = compare(name, want, got, texts, args.tolerance) and good
        if rows and want.shape == got.shape:
            for title, vectors in (("reference", want), ("sabok", got)):
                first = scores(pair_cosines(vectors), rows)[0]
                print("  {}: spearman {spearman_cosine:.6f}, pearson {pearson_cosine:.6f}".format(title, **first))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
