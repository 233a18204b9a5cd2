"""Milliseconds of the encoder on batches of equal length, all contenders in turn, several rounds."""

import statistics
import sys

from peer.engine import PEERS
from peer.model import MODELS, Model
from peer.runner import settle, start

# [batch_size, sequence_length] for each model: a query, a sentence, a passage, and batches of them.
SHAPES = {
    "minilm": [(1, 8), (1, 32), (1, 128), (1, 512), (8, 32), (8, 128), (32, 64)],
    "bert-base": [(1, 8), (1, 32), (1, 128), (1, 512), (8, 128)],
}


def measure(options) -> list[dict]:
    rows = []
    for dtype in options.dtype:
        names = [name for name in options.peers if dtype in PEERS[name].dtypes]
        for threads in options.threads:
            contenders = start(names, options.sabok, threads, dtype)
            try:
                for name in options.models:
                    for shape in options.shapes or SHAPES[name]:
                        rows += measure_shape(contenders, MODELS[name], dtype, threads, shape, options)
            finally:
                for contender in contenders:
                    contender.close()
    return rows


def measure_shape(contenders, model: Model, dtype: str, threads: int, shape: tuple[int, int], options) -> list[dict]:
    rounds: dict[str, list[dict]] = {contender.name: [] for contender in contenders}
    for number in range(options.rounds):
        # Every other round runs backwards, so that nobody always follows the same neighbour.
        for contender in contenders if number % 2 == 0 else contenders[::-1]:
            settle()
            rounds[contender.name].append(contender.measure(model, *shape, options.seconds))
    rows = []
    for name, results in rounds.items():
        row = {
            "model": model.name,
            "dtype": dtype,
            "threads": threads,
            "batch_size": shape[0],
            "sequence_length": shape[1],
            "engine": name,
        }
        errors = [result["error"] for result in results if "error" in result]
        if errors:
            print(f"{model.name} {shape} {name}: {errors[0]}", file=sys.stderr)
            rows.append({**row, "error": errors[0]})
            continue
        row["ms_rounds"] = [round(statistics.median(result["ms"]), 4) for result in results]
        row["ms_median"] = round(statistics.median(row["ms_rounds"]), 4)
        row["ms_min"] = round(min(result.get("min", min(result["ms"])) for result in results), 4)
        row["gflops"] = round(model.flops(*shape) / row["ms_median"] / 1e6, 1)
        row["gflops_best"] = round(model.flops(*shape) / row["ms_min"] / 1e6, 1)
        rows.append(row)
    add_ratios(rows)
    return rows


def add_ratios(rows: list[dict]) -> None:
    """How many times as fast as the fastest peer sabok is: round by round, then the median; and of the best runs."""
    sabok = next((row for row in rows if row["engine"] == "sabok" and "error" not in row), None)
    peers = [row for row in rows if row["engine"] != "sabok" and "error" not in row]
    if sabok is None or not peers:
        return
    fastest = [min(times) for times in zip(*(row["ms_rounds"] for row in peers), strict=True)]
    ratios = [peer / own for peer, own in zip(fastest, sabok["ms_rounds"], strict=True)]
    sabok["ratio"] = round(statistics.median(ratios), 3)
    sabok["ratio_best"] = round(min(row["ms_min"] for row in peers) / sabok["ms_min"], 3)
    sabok["fastest_peer"] = min(peers, key=lambda row: row["ms_median"])["engine"]
