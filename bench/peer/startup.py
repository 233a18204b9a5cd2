"""From exec to the first vector of one short text, and the most memory held on the way."""

import os
import statistics
import subprocess
import sys
import time

from peer.model import MODELS, onnx_file
from peer.runner import child_env, settle

_TEXT = "How are you today?"

_SENTENCE = """
import sys, torch
from sentence_transformers import SentenceTransformer
torch.set_num_threads(int(sys.argv[2]))
model = SentenceTransformer(sys.argv[1], device="cpu", model_kwargs={"dtype": torch.float32})
print(model.encode([sys.argv[3]])[0].tolist(), flush=True)
"""

_ONNX = """
import sys, numpy, onnxruntime
from tokenizers import Tokenizer
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(sys.argv[2])
session = onnxruntime.InferenceSession(sys.argv[4], options, ["CPUExecutionProvider"])
tokenizer = Tokenizer.from_file(sys.argv[1] + "/tokenizer.json")
tokenizer.no_padding()
ids = numpy.array([tokenizer.encode(sys.argv[3]).ids])
vector = session.run(None, {"input_ids": ids, "attention_mask": numpy.ones_like(ids)})[0].mean(axis=1)[0]
print((vector / numpy.linalg.norm(vector)).tolist(), flush=True)
"""


def measure(options) -> list[dict]:
    model = MODELS["minilm"]
    folder = str(model.folder)
    rows = []
    for threads in options.threads:
        python = [sys.executable, "-c"]
        commands = {
            "sentence-transformers": [*python, _SENTENCE, folder, str(threads), _TEXT],
            "onnxruntime": [*python, _ONNX, folder, str(threads), _TEXT, str(onnx_file(model))],
        }
        if options.sabok is not None:
            commands["sabok"] = [options.sabok, "run", "embed", folder, "--text", _TEXT, "--threads", str(threads)]
        runs: dict[str, list[dict]] = {name: [] for name in commands}
        for _ in range(max(options.rounds, 3) + 1):
            for name, command in commands.items():
                settle()
                runs[name].append(_run(command, threads))
        for name, results in runs.items():
            kept = results[1:]  # the first reads the files into the page cache
            rows.append(
                {
                    "model": model.name,
                    "threads": threads,
                    "engine": name,
                    "first_vector_ms": round(statistics.median(r["first"] for r in kept) * 1e3, 1),
                    "exit_ms": round(statistics.median(r["exit"] for r in kept) * 1e3, 1),
                    "cpu_ms": round(statistics.median(r["cpu"] for r in kept) * 1e3, 1),
                    "max_rss_mb": round(max(r["rss"] for r in kept) / 1e6, 1),
                    "status": max(abs(r["status"]) for r in kept),
                }
            )
    return rows


def _run(command: list[str], threads: int) -> dict:
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=child_env(threads), bufsize=0
    )
    assert process.stdout is not None
    process.stdout.read(1)
    first = time.perf_counter() - start
    while process.stdout.read(1 << 16):
        pass
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return {
        "first": first,
        "exit": time.perf_counter() - start,
        "cpu": usage.ru_utime + usage.ru_stime,
        "rss": usage.ru_maxrss * 1024,
        "status": process.returncode,
    }
