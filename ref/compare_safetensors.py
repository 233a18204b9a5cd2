"""Compares the verdict of sabok on damaged safetensors files with that of the Python package.

    python ref/compare_safetensors.py [--files 10000] [--seed 0] [--build build]

Each file is a good one, made by the package, with one to three changes. A file that one side reads and the other
refuses is printed with the seed that makes it again, unless it is one of the exceptions of docs/formats.md. Exit
status 1 on any mismatch.
"""

import argparse
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

import numpy
import safetensors
import safetensors.numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What sabok refuses and the reference may read, by a part of sabok's message.
EXCEPTIONS = (
    "NUL byte",
    "twice",
    "2^48 - 1",
    "more than 64 dimensions",
    "nested deeper",
    "SABOK_EUNSUPPORTED",
    "found an array, expected an object",  # a tensor as [dtype, shape, offsets]
    "found an object, expected a string",  # a dtype as {"F32": null}
)
# And the other way round: numbers that no double holds, under keys that both skip.
REFERENCE_EXCEPTIONS = ("number out of range",)

TOKENS = (
    "{", "}", "[", "]", ",", ":", '"', "0", "1", "-1", "1.0", "1e1", "-0", "null", "true", '""', "\\u0000", "\\ud800", " ",
    "\t", "\n", "\x00", "\xff", '"dtype"', '"shape"', '"data_offsets"', '"__metadata__"', "{}", "[]", '"F32"', '"F8_E4M3"',
    '"F4"', '"X"', "18446744073709551615", "18446744073709551616", "281474976710656", '"a":{},', '"x":1,', '"F32":null',
)


def good_file(rng):
    kinds = (numpy.float32, numpy.float16, numpy.int64, numpy.uint8, numpy.float64, numpy.bool_, numpy.int16)
    tensors = {}
    for i in range(rng.randrange(4)):
        shape = [rng.randrange(4) for _ in range(rng.randrange(4))]
        name = rng.choice(("a", "w.%d" % i, "é%d" % i, '"%d' % i, ""))
        tensors[name] = numpy.zeros(shape, rng.choice(kinds))
    metadata = rng.choice((None, {}, {"format": "pt"}, {"a": "", "b": "é"}))
    return safetensors.numpy.save(tensors, metadata)


def split(data):
    n = struct.unpack("<Q", data[:8])[0]
    return bytearray(data[8 : 8 + n]), bytearray(data[8 + n :])


def join(header, body):
    return struct.pack("<Q", len(header)) + bytes(header) + bytes(body)


def change_member(rng, header):
    """One value of the JSON replaced, so that deep rules are reached."""
    try:
        tree = json.loads(header.decode())
    except ValueError:
        return header
    if not isinstance(tree, dict):
        return header
    names = [k for k in tree if k != "__metadata__" and isinstance(tree[k], dict) and tree[k]]
    if not names:
        tree[rng.choice(("__metadata__", "new"))] = rng.choice((None, {}, {"a": 1}, {"a": "b"}, [], 3))
    else:
        item = tree[rng.choice(names)]
        what = rng.choice(("dtype", "shape", "data_offsets", "extra", "drop", "copy", "array"))
        if what == "dtype":
            item["dtype"] = rng.choice(("F32", "F64", "U8", "BF16", "F4", "F8_E5M2", "C64", "f32", 3, {"F32": None}))
        elif what == "shape":
            item["shape"] = rng.choice(([], [0], [1, 1], [2**63, 2], [2**48, 0], [1] * 65, "x", [1.0], [-1], [None]))
        elif what == "data_offsets":
            item["data_offsets"] = [rng.randrange(20), rng.randrange(20)][: rng.randrange(1, 4)]
        elif what == "extra":
            item["extra"] = rng.choice((1, None, {"x": [1]}, 1e300))
        elif what == "drop":
            item.pop(rng.choice(list(item)))
        elif what == "copy":
            tree["copy"] = dict(item)
        else:
            tree[names[0]] = list(item.values())
    return bytearray(json.dumps(tree, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass"))


def change(rng, data):
    if len(data) < 8 or struct.unpack("<Q", data[:8])[0] > len(data) - 8:
        return data
    header, body = split(data)
    kind = rng.randrange(9)
    at = rng.randrange(len(header) + 1)
    if kind == 0 and header:
        header[at % len(header)] = rng.randrange(256)
    elif kind == 1:
        header[at:at] = rng.choice(TOKENS).encode("latin-1")
    elif kind == 2:
        del header[at : at + rng.randrange(1, 9)]
    elif kind == 3:
        end = min(len(header), at + rng.randrange(1, 40))
        header[at:at] = header[at:end]
    elif kind == 4:
        body = body[: rng.randrange(len(body) + 1)] if rng.random() < 0.5 else body + bytes(rng.randrange(1, 9))
    elif kind == 5:
        digits = [i for i, c in enumerate(header) if chr(c).isdigit()]
        if digits:
            header[rng.choice(digits)] = rng.choice(b"0123456789")
    elif kind == 6:
        return data[: rng.randrange(len(data) + 1)]
    elif kind == 7:
        raw = bytearray(data)
        raw[rng.randrange(8)] = rng.randrange(256)
        return bytes(raw)
    else:
        header = change_member(rng, header)
    return join(header, body)


def make(seed):
    rng = random.Random(seed)
    data = good_file(rng)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        data = change(rng, data)
    return data


def reference(data):
    try:
        return True, "%d tensors" % len(safetensors.deserialize(data))
    except Exception as e:  # noqa: BLE001 - any refusal is a refusal
        return False, str(e)


def driver(build):
    exe = pathlib.Path(tempfile.mkdtemp()) / "verdict"
    libraries = subprocess.run(["pkg-config", "--libs", "libpcre2-8", "libutf8proc"], check=True, capture_output=True, text=True)
    # The library keeps its inner names to itself, so its objects are linked.
    inner = pathlib.Path(build) / "CMakeFiles/sabok_objects.dir"
    objects = [str(o) for o in inner.glob("src/**/*.o") if (ROOT / o.relative_to(inner)).with_suffix("").exists()]
    subprocess.run(
        ["cc", "-std=c17", "-O2", f"-I{ROOT}/include", f"-I{ROOT}/src", str(ROOT / "ref/safetensors_verdict.c"), "-o", str(exe),
         *objects, *libraries.stdout.split(), "-lm", "-lpthread"],
        check=True,
    )
    return exe


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--build", default=str(ROOT / "build"))
    args = parser.parse_args()
    exe = driver(args.build)
    counts = {"both read": 0, "both refuse": 0, "listed exception": 0, "mismatch": 0}
    for first in range(args.seed, args.seed + args.files, 20000):
        seeds = range(first, min(first + 20000, args.seed + args.files))
        files = [make(seed) for seed in seeds]
        stream = b"".join(struct.pack("<Q", len(f)) + f for f in files)
        out = subprocess.run([exe], input=stream, check=True, capture_output=True).stdout.decode().splitlines()
        assert len(out) == len(files)
        for seed, data, ours in zip(seeds, files, out):
            read, text = reference(data)
            if read == (ours == "ok"):
                counts["both read" if read else "both refuse"] += 1
            elif any(e in ours for e in EXCEPTIONS) if read else any(e in text for e in REFERENCE_EXCEPTIONS):
                counts["listed exception"] += 1
            else:
                counts["mismatch"] += 1
                print(f"--seed {seed} --files 1: sabok {ours!r}, reference {text!r}, file {data!r}")
    print(f"safetensors {safetensors.__version__}, {args.files} files from seed {args.seed}:", counts)
    return 1 if counts["mismatch"] or not counts["both read"] else 0


if __name__ == "__main__":
    sys.exit(main())
