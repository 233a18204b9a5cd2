"""Peers that turn texts into vectors, served like engine.py's:

    {"model": "minilm", "texts": "/path.jsonl", "batch_size": 32, "vectors": "/path.npy"?}  ->  {"seconds": 1.2}

Loading and importing are not in the seconds; reading the file is not either.
"""

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from peer.engine import OnnxPeer, OpenvinoPeer, serve
from peer.model import MODELS, Model


class SentencePeer:
    """sentence-transformers' encode, which sorts by length and pads each batch itself."""

    def __init__(self, model: Model, threads: int) -> None:
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(threads)
        self.net = SentenceTransformer(model.folder, device="cpu", model_kwargs={"dtype": torch.float32})

    def encode(self, texts: list[str], batch_size: int) -> np.ndarray:
        return self.net.encode(texts, batch_size=batch_size)


class SortedPeer:
    """tokenizers for all texts at once, then batches of similar length through an engine, mean pooling, unit length."""

    def __init__(self, engine: type, model: Model, threads: int) -> None:
        from tokenizers import Tokenizer

        self.engine = engine(model, threads, "float32")
        self.tokenizer = Tokenizer.from_file(str(Path(str(model.folder)) / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(256)

    def encode(self, texts: list[str], batch_size: int) -> np.ndarray:
        encodings = [e.ids for e in self.tokenizer.encode_batch_fast(texts)]
        order = sorted(range(len(texts)), key=lambda i: len(encodings[i]))
        vectors: np.ndarray | None = None
        for at in range(0, len(order), batch_size):
            chosen = order[at : at + batch_size]
            longest = len(encodings[chosen[-1]])
            ids = np.zeros((len(chosen), longest), np.int64)
            mask = np.zeros((len(chosen), longest), np.int64)
            for row, i in enumerate(chosen):
                ids[row, : len(encodings[i])] = encodings[i]
                mask[row, : len(encodings[i])] = 1
            hidden = self.engine.run(self.engine.prepare(ids, mask))
            pooled = np.einsum("bsd,bs->bd", hidden, mask.astype(np.float32)) / mask.sum(axis=1, keepdims=True)
            if vectors is None:
                vectors = np.empty((len(texts), pooled.shape[1]), np.float32)
            vectors[chosen] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        assert vectors is not None
        return vectors


PEERS = {
    "sentence-transformers": SentencePeer,
    "onnxruntime": lambda model, threads: SortedPeer(OnnxPeer, model, threads),
    "openvino": lambda model, threads: SortedPeer(OpenvinoPeer, model, threads),
}


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
            loaded[model.name] = PEERS[args.peer](model, args.threads)
        peer = loaded[model.name]
        with open(request["texts"], encoding="utf-8") as file:
            texts = [json.loads(line)["text"] for line in file]
        peer.encode(texts[:16], request["batch_size"])
        start = time.perf_counter()
        vectors = peer.encode(texts, request["batch_size"])
        seconds = time.perf_counter() - start
        if request.get("vectors"):
            np.save(request["vectors"], vectors)
        return {"seconds": seconds}

    serve(answer_request)


if __name__ == "__main__":
    main()
