"""Compares libsabok's tokenizer with the reference's on real and on generated texts: ids, type ids, words, tokens, special
mask and offsets of each, and the ids of the short way. Prints the first difference and exits 1, or counts and exits 0.

    python ref/tokenizer_compare.py TOKENIZER.json --data /work/shared/data
    python ref/tokenizer_compare.py TOKENIZER.json --random 1000000 --seed 1
"""

import argparse
import ctypes as C
import json
import os
import random
import sys
import unicodedata

import tokenizers


class Span(C.Structure):
    _fields_ = [("begin", C.c_size_t), ("end", C.c_size_t)]


class Encoding(C.Structure):
    _fields_ = [
        ("text", C.c_size_t), ("length", C.c_size_t), ("ids", C.POINTER(C.c_uint32)), ("type_ids", C.POINTER(C.c_uint32)),
        ("special_mask", C.POINTER(C.c_uint8)), ("offsets", C.POINTER(Span)), ("offsets_bytes", C.POINTER(Span)),
        ("words", C.POINTER(C.c_uint32)), ("tokens", C.POINTER(C.c_char_p)),
    ]


class Opts(C.Structure):
    _fields_ = [
        ("text_lengths", C.POINTER(C.c_size_t)), ("pair_lengths", C.POINTER(C.c_size_t)), ("no_special", C.c_bool),
        ("truncation", C.c_int), ("max_length", C.c_size_t), ("stride", C.c_size_t), ("overflow", C.c_bool),
        ("ids_only", C.c_bool),
    ]


class Error(C.Structure):
    _fields_ = [("code", C.c_int), ("offset", C.c_uint64), ("where", C.c_char * 256), ("message", C.c_char * 768)]


STRATEGIES = {"none": 1, "longest_first": 2, "only_first": 3, "only_second": 4}


class Sabok:
    def __init__(self, library, path):
        self.lib = L = C.CDLL(library)
        L.sabok_tokenizer_open.restype = L.sabok_tokenize.restype = C.c_void_p
        L.sabok_encodings_get.restype = C.POINTER(Encoding)
        L.sabok_encodings_get.argtypes = [C.c_void_p, C.c_size_t]
        L.sabok_encodings_count.restype = C.c_size_t
        L.sabok_encodings_count.argtypes = L.sabok_encodings_free.argtypes = [C.c_void_p]
        L.sabok_tokenize.argtypes = [C.c_void_p, C.c_void_p, C.c_void_p, C.c_size_t, C.c_void_p, C.c_void_p]
        self.err = Error()
        self.tok = L.sabok_tokenizer_open(path.encode(), C.byref(self.err))
        if not self.tok:
            sys.exit(self.err.message.decode())

    def encode(self, texts, pairs=None, **kw):
        def array(strings):
            raw = [s if isinstance(s, bytes) else s.encode("utf-8", "surrogatepass") for s in strings]
            return (C.c_char_p * len(raw))(*raw), (C.c_size_t * len(raw))(*map(len, raw))

        texts, lengths = array(texts)
        opts = Opts(text_lengths=lengths, **{"truncation": 1, **kw})
        if pairs:
            pairs, opts.pair_lengths = array(pairs)
        encs = self.lib.sabok_tokenize(self.tok, texts, pairs, len(texts), C.byref(opts), C.byref(self.err))
        if not encs:
            raise ValueError(self.err.message.decode())
        out = []
        for i in range(self.lib.sabok_encodings_count(encs)):
            e = self.lib.sabok_encodings_get(encs, i).contents
            n = e.length
            d = {"text": e.text, "ids": e.ids[:n], "type_ids": e.type_ids[:n], "special": e.special_mask[:n]}
            if not opts.ids_only:
                d["offsets"] = [(s.begin, s.end) for s in e.offsets[:n]]
                d["bytes"] = [(s.begin, s.end) for s in e.offsets_bytes[:n]]
                d["words"] = [None if w == 0xFFFFFFFF else w for w in e.words[:n]]
                d["tokens"] = [t.decode("utf-8") for t in e.tokens[:n]]
            out.append(d)
        self.lib.sabok_encodings_free(encs)
        return out


def as_dict(e):
    return {
        "ids": e.ids, "type_ids": e.type_ids, "special": e.special_tokens_mask, "offsets": e.offsets, "words": e.word_ids,
        "tokens": [t.split("\0")[0] for t in e.tokens],
    }


def byte_offsets(text, offsets):
    at = [0]
    for ch in text:
        at.append(at[-1] + len(ch.encode("utf-8")))
    return [(at[a], at[b]) for a, b in offsets]


def compare(reference, ours, texts, report):
    want = reference.encode_batch(texts)
    got = ours.encode(texts)
    short = ours.encode(texts, ids_only=True)
    for text, w, g, s in zip(texts, want, got, short):
        w = as_dict(w)
        w["bytes"] = byte_offsets(text, w["offsets"])
        if s["ids"] != w["ids"]:
            report(text, "short ids", w["ids"], s["ids"])
        for k, v in w.items():
            if g[k] != v:
                report(text, k, v, g[k])


def data_texts(folder):
    for root, _, files in sorted(os.walk(folder)):
        for name in sorted(files):
            if name.endswith((".md", ".gz", ".npy", ".wav", ".png", ".bin")) or "idx" in name:
                continue
            with open(os.path.join(root, name), encoding="utf-8", errors="replace") as f:
                for line in f:
                    line = line.rstrip("\n")
                    yield line
                    if name.endswith(".jsonl") and line.startswith("{"):
                        yield from (v for v in json.loads(line).values() if isinstance(v, str))
                    elif "\t" in line:
                        yield from line.split("\t")


MARKS = [c for c in range(0x110000) if unicodedata.combining(chr(c))]
DECOMPOSED = [c for c in range(0x110000) if unicodedata.decomposition(chr(c))]
CASED = [c for c in range(0x110000) if chr(c).lower() != chr(c)]
SPACES = [9, 10, 11, 12, 13, 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]


def any_point(r):
    while True:
        c = r.randrange(0x110000)
        if not 0xD800 <= c < 0xE000:
            return c


def generated(n, seed, words):
    r = random.Random(seed)
    pick = [
        lambda: chr(any_point(r)),
        lambda: chr(any_point(r)),
        lambda: chr(r.randrange(0x20, 0x7F)),
        lambda: chr(r.randrange(0x20, 0x7F)),
        lambda: chr(r.randrange(0x80, 0x3000)),
        lambda: chr(r.randrange(0x2000, 0xD800)),
        lambda: chr(r.choice(MARKS)),
        lambda: chr(r.choice(DECOMPOSED)),
        lambda: chr(r.choice(CASED)),
        lambda: chr(r.choice(SPACES)),
        lambda: chr(r.randrange(0xE000, 0x10000)),
        lambda: chr(r.randrange(0x10000, 0x20000)),
        lambda: chr(r.randrange(0xAC00, 0xD7A4)),
        lambda: r.choice(words),
        lambda: r.choice(words).upper(),
        lambda: " ",
        lambda: " ",
        lambda: chr(r.randrange(0x20)),
    ]
    for _ in range(n):
        kinds = [r.choice(pick) for _ in range(r.randrange(1, 5))]
        yield "".join(r.choice(kinds)() for _ in range(r.choice((1, 2, 3, 5, 8, 13, 40))))


def main():
    a = argparse.ArgumentParser()
    a.add_argument("tokenizer")
    a.add_argument("--library", default="build/libsabok.so")
    a.add_argument("--data")
    a.add_argument("--random", type=int, default=0)
    a.add_argument("--seed", type=int, default=1)
    a = a.parse_args()
    reference = tokenizers.Tokenizer.from_file(a.tokenizer)
    reference.no_truncation()
    reference.no_padding()
    ours = Sabok(a.library, a.tokenizer)
    differences = []

    def report(text, what, want, got):
        differences.append(text)
        if len(differences) <= 5:
            print("text %s\n  %s: expected %s\n  found %s" % (ascii(text), what, want, got))

    words = [w.replace("##", "") for w in reference.get_vocab() if len(w) < 20] or ["a"]
    words += [t.content for t in reference.get_added_tokens_decoder().values()] * 50
    texts = data_texts(a.data) if a.data else generated(a.random, a.seed, sorted(words))
    n, batch = 0, []
    for text in texts:
        batch.append(text)
        n += 1
        if len(batch) == 1000:
            compare(reference, ours, batch, report)
            batch = []
    compare(reference, ours, batch, report)
    print("%d texts, %d differences" % (n, len(differences)))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
