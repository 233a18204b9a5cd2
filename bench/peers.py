#!/usr/bin/env python3
"""sabok beside PyTorch, ONNX Runtime and OpenVINO, one after another in one run.

    python bench/peers.py forward  [--models minilm bert-base] [--shapes 1x128 8x128] [--threads 1 2]
    python bench/peers.py text     [--texts sst2 agnews] [--limit 2000]
    python bench/peers.py startup
    python bench/peers.py token
    python bench/peers.py all

Without --sabok (or with a binary that is not there) the peers run alone. Tables go to standard output, all rows to
--json. Every contender has its own process; while one runs the others are stopped. `ratio` is how many times as fast
sabok is as the fastest peer, the median over rounds.

On a machine with other work, give the run its own scheduling group of high weight:

    setsid -w sh -c 'echo -20 > /proc/self/autogroup; exec nice -n -20 python bench/peers.py forward'
"""

import argparse
import json
import os
import platform
import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

os.environ.setdefault("HF_HUB_OFFLINE", "1")
for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)

from peer import forward, startup, text, tokenizing
from peer.engine import DTYPES, PEERS
from peer.model import MODELS
from peer.report import table

PARTS = {"forward": forward.measure, "text": text.measure, "startup": startup.measure, "token": tokenizing.measure}
COLUMNS = {
    "forward": [
        "model", "dtype", "threads", "batch_size", "sequence_length", "engine", "ms_median", "ms_min", "gflops",
        "gflops_best", "ratio", "ratio_best", "fastest_peer",
    ],
    "text": ["texts", "count", "threads", "engine", "batch_size", "s_median", "texts_per_s", "largest_difference", "ratio"],
    "startup": ["threads", "engine", "first_vector_ms", "exit_ms", "cpu_ms", "max_rss_mb", "status"],
    "token": ["threads", "engine", "what", "s_median", "s_best", "mb_per_s", "texts_per_s"],
}  # fmt: skip


def machine() -> dict[str, object]:
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    packages = ("torch", "onnxruntime", "openvino", "transformers", "sentence-transformers", "tokenizers")
    return {
        "cpu": cpu,
        "cpus": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "kernel": platform.release(),
        "versions": {package: metadata.version(package) for package in packages},
    }


def shape(text_shape: str) -> tuple[int, int]:
    batch, _, length = text_shape.partition("x")
    return int(batch), int(length)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=[*PARTS, "all"])
    parser.add_argument("--sabok", default="build/sabok", help="the binary; %(default)s")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--dtype", nargs="+", choices=DTYPES, default=["float32"])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--shapes", type=shape, nargs="+", help="batch x length; each model's own list when left out")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--text_peers", nargs="*", default=["sentence-transformers", "onnxruntime", "openvino"])
    parser.add_argument("--texts", nargs="+", default=["sst2", "agnews"])
    parser.add_argument("--limit", type=int, default=2000, help="texts of each set; 0: all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each peer in each round")
    parser.add_argument("--json", type=Path, help="where all rows go")
    options = parser.parse_args()
    if not Path(options.sabok).exists():
        print(f"peers.py: no {options.sabok}: the peers alone", file=sys.stderr)
        options.sabok = None

    result: dict[str, object] = {"machine": machine()}
    for part in PARTS if options.part == "all" else [options.part]:
        rows = PARTS[part](options)
        result[part] = rows
        print(f"== {part}")
        print(table([row for row in rows if "error" not in row], COLUMNS[part]), flush=True)
        for row in rows:
            if "error" in row:
                print(f"   {row['engine']}: {row['error']}")
        if options.json:
            options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
