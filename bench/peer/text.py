"""Seconds from real texts to vectors: sentence-transformers, engines fed by length, and `sabok run embed`."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from peer.model import MODELS, Model
from peer.runner import PeerProcess, child_env, settle

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "ref"))
from corpus import read_texts  # noqa: E402

# The best batch is looked for among these, on the first texts, before anything counts.
BATCH_SIZES = (8, 16, 32)
_TRIAL_TEXTS = 150


def measure(options) -> list[dict]:
    rows = []
    model = MODELS["minilm"]
    with tempfile.TemporaryDirectory() as folder:
        for name in options.texts:
            texts = _spread(read_texts(name), options.limit)
            path, trial = Path(folder) / f"{name}.jsonl", Path(folder) / f"{name}-trial.jsonl"
            _write(path, texts)
            _write(trial, _spread(texts, _TRIAL_TEXTS))
            for threads in options.threads:
                rows += _measure_set(name, model, threads, path, trial, len(texts), options)
    return rows


def _spread(texts: list[str], limit: int) -> list[str]:
    """At most `limit` texts, evenly spaced, so that all lengths and splits are there."""
    step = max(len(texts) / limit, 1.0) if limit else 1.0
    return [texts[int(i * step)] for i in range(int(len(texts) / step))]


def _write(path: Path, texts: list[str]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)


def _measure_set(name: str, model: Model, threads: int, path: Path, trial: Path, count: int, options) -> list[dict]:
    peers = [PeerProcess("text_engine.py", peer, threads) for peer in options.text_peers]
    seconds: dict[str, list[float]] = {}
    best: dict[str, int] = {}
    vectors: dict[str, Path] = {}
    errors: dict[str, str] = {}
    try:
        for peer in peers:
            trials = {n: peer.ask({"model": model.name, "texts": str(trial), "batch_size": n}) for n in BATCH_SIZES}
            good = {n: answer["seconds"] for n, answer in trials.items() if "seconds" in answer}
            if good:
                best[peer.name] = min(good, key=lambda n: good[n])
            else:
                errors[peer.name] = trials[BATCH_SIZES[0]]["error"]
        for number in range(options.rounds):
            for peer in peers if number % 2 == 0 else peers[::-1]:
                if peer.name not in best:
                    continue
                settle()
                vectors[peer.name] = path.with_suffix(f".{peer.name}.npy")
                request = {"texts": str(path), "batch_size": best[peer.name], "vectors": str(vectors[peer.name])}
                answer = peer.ask({"model": model.name, **request})
                seconds.setdefault(peer.name, []).append(answer["seconds"])
            if options.sabok is not None:
                settle()
                vectors["sabok"] = path.with_suffix(".sabok.npy")
                seconds.setdefault("sabok", []).append(_run_sabok(options.sabok, model, threads, path, vectors["sabok"]))
    finally:
        for peer in peers:
            peer.close()
    base = {"texts": name, "count": count, "model": model.name, "threads": threads}
    rows = [{**base, "engine": peer, "error": error} for peer, error in errors.items()]
    want = np.load(vectors["sentence-transformers"]) if "sentence-transformers" in vectors else None
    for engine, times in seconds.items():
        median = statistics.median(times)
        row = {
            **base,
            "engine": engine,
            "batch_size": best.get(engine, ""),
            "s_rounds": [round(t, 3) for t in times],
            "s_median": round(median, 3),
            "texts_per_s": round(count / median, 1),
        }
        if want is not None:
            row["largest_difference"] = float(np.abs(np.load(vectors[engine]) - want).max())
        rows.append(row)
    if "sabok" in seconds and len(seconds) > 1:
        others = [times for engine, times in seconds.items() if engine != "sabok"]
        fastest = [min(times) for times in zip(*others, strict=True)]
        ratios = [peer / own for peer, own in zip(fastest, seconds["sabok"], strict=True)]
        rows[-1]["ratio"] = round(statistics.median(ratios), 3)
    return rows


def _run_sabok(sabok: str, model: Model, threads: int, path: Path, target: Path) -> float:
    """The whole command, its start included: the peers' start is left out, so this is against sabok."""
    command = [sabok, "run", "embed", str(model.folder), "--input", str(path), "--output", str(target)]
    command += ["--threads", str(threads)]
    start = time.perf_counter()
    subprocess.run(command, check=True, env=child_env(threads))
    return time.perf_counter() - start
