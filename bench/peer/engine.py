"""The peers, each one class with the same face: load a model, then run batches of token ids.

Run as a program it serves one peer over standard input and output, a JSON object a line, so that every peer has its own
process, threads and memory:

    {"model": "minilm", "batch_size": 8, "sequence_length": 128, "seconds": 1.0}  ->  {"ms": [...]}
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from peer.model import MODELS, Model, onnx_file, openvino_file, torch_model

DTYPES = ("float32", "bfloat16")


class TorchPeer:
    """PyTorch as transformers runs it: sdpa attention, inference mode."""

    dtypes = DTYPES

    def __init__(self, model: Model, threads: int, dtype: str) -> None:
        import torch

        torch.set_num_threads(threads)
        self.torch = torch
        self.net = torch_model(model).to(getattr(torch, dtype))
        self.run_net = self.net

    def prepare(self, ids: np.ndarray, mask: np.ndarray):
        tensor = self.torch.from_numpy
        return {"input_ids": tensor(ids), "attention_mask": tensor(mask)}

    def run(self, inputs) -> np.ndarray:
        with self.torch.inference_mode():
            return self.run_net(**inputs).last_hidden_state


class CompilePeer(TorchPeer):
    """torch.compile for fixed shapes, with the weights frozen in and packed."""

    def __init__(self, model: Model, threads: int, dtype: str) -> None:
        super().__init__(model, threads, dtype)
        import torch._inductor.config as inductor

        inductor.freezing = True
        self.run_net = self.torch.compile(self.net, dynamic=False)

    def run(self, inputs) -> np.ndarray:
        with self.torch.no_grad():
            return self.run_net(**inputs).last_hidden_state


class OnnxPeer:
    """ONNX Runtime's CPU provider, every graph optimisation on."""

    dtypes = ("float32",)

    def __init__(self, model: Model, threads: int, dtype: str) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self.session = onnxruntime.InferenceSession(str(onnx_file(model)), options, ["CPUExecutionProvider"])

    def prepare(self, ids: np.ndarray, mask: np.ndarray):
        return {"input_ids": ids, "attention_mask": mask}

    def run(self, inputs) -> np.ndarray:
        return self.session.run(None, inputs)[0]


class OpenvinoPeer:
    """OpenVINO for the lowest latency of one request. Without the hint it would compute in bf16 where the CPU can."""

    dtypes = DTYPES

    def __init__(self, model: Model, threads: int, dtype: str) -> None:
        import openvino

        hints = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": threads,
            "INFERENCE_PRECISION_HINT": {"float32": "f32", "bfloat16": "bf16"}[dtype],
        }
        core = openvino.Core()
        self.request = core.compile_model(str(openvino_file(model)), "CPU", hints).create_infer_request()

    def prepare(self, ids: np.ndarray, mask: np.ndarray):
        return {"input_ids": ids, "attention_mask": mask}

    def run(self, inputs) -> np.ndarray:
        return self.request.infer(inputs, share_inputs=True, share_outputs=True)[0]


PEERS = {"torch": TorchPeer, "torch-compile": CompilePeer, "onnxruntime": OnnxPeer, "openvino": OpenvinoPeer}


def time_runs(peer, model: Model, request: dict) -> list[float]:
    """Milliseconds of each run, for about `seconds` and at least five, after two that do not count."""
    draw = np.random.default_rng(0)
    shape = (request["batch_size"], request["sequence_length"])
    ids = draw.integers(1000, model.V, shape, dtype=np.int64)
    inputs = peer.prepare(ids, np.ones(shape, np.int64))
    for _ in range(2):
        peer.run(inputs)
    ms: list[float] = []
    end = time.perf_counter() + request["seconds"]
    while len(ms) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        peer.run(inputs)
        ms.append((time.perf_counter() - start) * 1e3)
    return ms


def serve(answer_request) -> None:
    """Answers each line of standard input; an exception is an answer too, as a peer that cannot run is a row."""
    # The libraries print to standard output now and then: keep it for the answers alone.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            answer = answer_request(json.loads(line))
        except Exception as failure:
            answer = {"error": f"{type(failure).__name__}: {str(failure)[:300]}"}
        print(json.dumps(answer), file=answers, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--dtype", default="float32")
    args = parser.parse_args()
    loaded: dict[str, object] = {}

    def answer_request(request: dict) -> dict:
        model = MODELS[request["model"]]
        if model.name not in loaded:
            loaded[model.name] = PEERS[args.peer](model, args.threads, args.dtype)
        return {"ms": time_runs(loaded[model.name], model, request)}

    serve(answer_request)


if __name__ == "__main__":
    main()
