"""Tokenizing speed: `tokenizers` and sabok's library, both inside one process, and the whole `sabok tokenize` command."""

import argparse
import ctypes
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "ref"))

from corpus import read_texts  # noqa: E402

from peer.engine import serve  # noqa: E402
from peer.model import MODELS  # noqa: E402
from peer.runner import PeerProcess, settle  # noqa: E402


class _Options(ctypes.Structure):
    """struct sabok_tokenize_opts of include/sabok.h."""

    _fields_ = [
        ("text_lengths", ctypes.POINTER(ctypes.c_size_t)),
        ("pair_lengths", ctypes.POINTER(ctypes.c_size_t)),
        ("no_special", ctypes.c_bool),
        ("truncation", ctypes.c_int),
        ("max_length", ctypes.c_size_t),
        ("stride", ctypes.c_size_t),
        ("overflow", ctypes.c_bool),
        ("ids_only", ctypes.c_bool),
    ]


_TRUNCATE_NONE = 1


class SabokTokens:
    """libsabok.so, called as a C program calls it."""

    def __init__(self, library: str, folder: str, ids_only: bool) -> None:
        lib = ctypes.CDLL(library)
        lib.sabok_tokenizer_open.restype = ctypes.c_void_p
        lib.sabok_tokenizer_open.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
        lib.sabok_tokenize.restype = ctypes.c_void_p
        lib.sabok_tokenize.argtypes = [
            ctypes.c_void_p,
            ctypes.POINTER(ctypes.c_char_p),
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.POINTER(_Options),
            ctypes.c_void_p,
        ]
        lib.sabok_encodings_count.restype = ctypes.c_size_t
        lib.sabok_encodings_count.argtypes = [ctypes.c_void_p]
        lib.sabok_encodings_free.argtypes = [ctypes.c_void_p]
        self.lib = lib
        self.tok = lib.sabok_tokenizer_open((folder + "/tokenizer.json").encode(), None)
        if not self.tok:
            raise RuntimeError("sabok_tokenizer_open failed")
        self.options = _Options(truncation=_TRUNCATE_NONE, ids_only=ids_only)

    def prepare(self, texts: list[str]):
        return (ctypes.c_char_p * len(texts))(*[text.encode() for text in texts])

    def run(self, texts) -> int:
        encodings = self.lib.sabok_tokenize(self.tok, texts, None, len(texts), ctypes.byref(self.options), None)
        if not encodings:
            raise RuntimeError("sabok_tokenize failed")
        count = self.lib.sabok_encodings_count(encodings)
        self.lib.sabok_encodings_free(encodings)
        return count


class ReferenceTokens:
    def __init__(self, folder: str, ids_only: bool) -> None:
        from tokenizers import Tokenizer

        self.tok = Tokenizer.from_file(folder + "/tokenizer.json")
        self.tok.no_padding()
        self.tok.no_truncation()
        self.encode = self.tok.encode_batch_fast if ids_only else self.tok.encode_batch

    def prepare(self, texts: list[str]) -> list[str]:
        return texts

    def run(self, texts: list[str]) -> int:
        return len(self.encode(texts))


def measure(options) -> list[dict]:
    texts = [text for name in ("sst2", "agnews", "mrpc", "trec") for text in read_texts(name)]
    size = sum(len(text.encode()) for text in texts)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.jsonl"
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
        for threads in options.threads:
            names = ["tokenizers"] + (["sabok"] if options.sabok else [])
            peers = [PeerProcess("tokenizing.py", name, threads) for name in names]
            for ids_only in (True, False):
                request = {"texts": str(path), "ids_only": ids_only, "rounds": 3}
                if options.sabok:
                    request["library"] = str(Path(options.sabok).resolve().parent / "libsabok.so")
                for peer in peers:
                    settle()
                    answer = peer.ask(request)
                    what = "ids" if ids_only else "ids, offsets, tokens"
                    rows.append(_row(peer.name, what, threads, size, len(texts), answer))
            for peer in peers:
                peer.close()
        if options.sabok:
            command = [options.sabok, "tokenize", str(MODELS["minilm"].folder), "--input", str(path), "--no-truncation"]
            times = []
            for _ in range(3):
                settle()
                start = time.perf_counter()
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                times.append(time.perf_counter() - start)
            rows.append(_row("sabok", "the command, with JSON", 1, size, len(texts), {"seconds": times}))
    return rows


def _row(engine: str, what: str, threads: int, size: int, count: int, answer: dict) -> dict:
    row: dict[str, object] = {"engine": engine, "what": what, "threads": threads}
    if "error" in answer:
        return {**row, "error": answer["error"]}
    best = min(answer["seconds"])
    row["s_median"] = round(statistics.median(answer["seconds"]), 4)
    return {**row, "s_best": round(best, 4), "mb_per_s": round(size / best / 1e6, 1), "texts_per_s": round(count / best)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("peer", choices=("tokenizers", "sabok"))
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--dtype")
    args = parser.parse_args()
    folder = str(MODELS["minilm"].folder)

    def answer_request(request: dict) -> dict:
        if args.peer == "sabok":
            peer = SabokTokens(request["library"], folder, request["ids_only"])
        else:
            peer = ReferenceTokens(folder, request["ids_only"])
        with open(request["texts"], encoding="utf-8") as file:
            texts = peer.prepare([json.loads(line)["text"] for line in file])
        peer.run(texts)
        seconds = []
        for _ in range(request["rounds"]):
            start = time.perf_counter()
            peer.run(texts)
            seconds.append(time.perf_counter() - start)
        return {"seconds": seconds}

    serve(answer_request)


if __name__ == "__main__":
    main()
