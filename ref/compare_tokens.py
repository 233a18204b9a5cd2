#!/usr/bin/env python3
"""Compares `sabok tokenize` with the reference on the shared texts and on random ones from all of Unicode.

    python ref/compare_tokens.py SABOK MODEL [--random 100000] [--seed 0] [--texts NAME...]

MODEL is a folder with tokenizer.json. Exit status 1 when anything differs; each difference is one line that can be
given back with --text.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from tokenizers import Tokenizer

from corpus import TEXT_SETS, read_texts
from golden.text import all_texts, random_texts

KEYS = ("ids", "type_ids", "tokens", "offsets", "special_tokens_mask", "attention_mask")
_MARKS = [*range(0x300, 0x370), *range(0x1AB0, 0x1ACF), *range(0x20D0, 0x20F1), *range(0xFE00, 0xFE10)]
_WORDS = "the of running unbelievable New York don't 3.14 a-b e.g. naïve tokenizers".split()


def unicode_texts(count: int, seed: int) -> Iterator[str]:
    """Strings of 1 to 40 characters: any scalar, one neighbourhood, or words with marks and oddities in between."""
    draw = random.Random(seed)

    def scalar(low: int, high: int) -> str:
        c = draw.randrange(low, high)
        return chr(c) if not 0xD800 <= c < 0xE000 else "\ufffd"

    for _ in range(count):
        kind, size = draw.randrange(4), draw.randint(1, 40)
        if kind == 0:
            yield "".join(scalar(0, 0x110000) for _ in range(size))
        elif kind == 1:  # the planes where letters are
            yield "".join(scalar(0, 0x3000 if draw.random() < 0.7 else 0x20000) for _ in range(size))
        elif kind == 2:  # a few neighbouring code points, as in a text of one script
            low = draw.randrange(0, 0x10FF00 if draw.random() < 0.2 else 0x1FF00)
            yield "".join(scalar(low, low + 0x60) if draw.random() < 0.85 else " " for _ in range(size))
        else:
            parts = []
            for _ in range(draw.randint(1, 8)):
                parts.append(draw.choice(_WORDS))
                if draw.random() < 0.5:
                    parts.append(chr(draw.choice(_MARKS)))
                parts.append(draw.choice(["", " ", "", scalar(0, 0x3000), scalar(0x1F000, 0x1FB00)]))
            yield "".join(parts)


def expected(tok: Tokenizer, text: str) -> dict[str, object]:
    e = tok.encode(text)
    offsets = [list(span) for span in e.offsets]
    values = (e.ids, e.type_ids, e.tokens, offsets, e.special_tokens_mask, e.attention_mask)
    return dict(zip(KEYS, values, strict=True))


def run_sabok(sabok: str, model: str, texts: list[str]) -> Iterator[dict[str, object] | None]:
    """One Encoding for each text, in order; stops early where sabok stops."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.jsonl"
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
        command = [sabok, "tokenize", model, "--input", str(path), "--no-truncation"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
            assert process.stdout is not None
            for line in process.stdout:
                yield json.loads(line)
        if process.returncode != 0:
            print(f"sabok ended with status {process.returncode}: {' '.join(command)}", file=sys.stderr)


def compare(sabok: str, model: str, tok: Tokenizer, name: str, texts: list[str], shown: int) -> int:
    """The number of texts that differ; the first `shown` are printed."""
    wrong = 0
    for text, got in zip_longest(texts, run_sabok(sabok, model, texts)):
        if text is None:
            print(f"{name}: more lines than texts")
            return wrong + 1
        want = expected(tok, text)
        differing = [key for key in KEYS if got is None or got.get(key) != want[key]]
        if not differing:
            continue
        wrong += 1
        if wrong <= shown:
            print(f"{name}: {differing[0]} differ: --text {json.dumps(text)}")
            print(f"  want {want[differing[0]]}\n  got  {got.get(differing[0]) if got else None}")
    print(f"{name}: {len(texts)} texts, {wrong} differ", flush=True)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sabok")
    parser.add_argument("model")
    parser.add_argument("--random", type=int, default=100000, help="strings from all of Unicode")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--texts", nargs="*", default=list(TEXT_SETS), help="shared data sets to read")
    parser.add_argument("--text", action="append", help="compare these only (JSON strings)")
    parser.add_argument("--shown", type=int, default=5, help="differences printed for each set")
    args = parser.parse_args()

    tok = Tokenizer.from_file(str(Path(args.model) / "tokenizer.json"))
    tok.no_truncation()
    tok.no_padding()
    if args.text:
        sets = {"given": [json.loads(text) for text in args.text]}
    else:
        sets = {"tricky": all_texts(), "scripts": random_texts(20000, args.seed, longest=60)}
        sets.update({name: read_texts(name) for name in args.texts})
        sets["code points"] = ["a" + chr(c) + "b " + chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
        sets["unicode"] = list(unicode_texts(args.random, args.seed))
    wrong = sum(compare(args.sabok, args.model, tok, name, texts, args.shown) for name, texts in sets.items())
    total = sum(map(len, sets.values()))
    print(f"total: {total} texts, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
