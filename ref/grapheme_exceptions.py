"""Writes src/text/grapheme_exceptions.h: where the reference's graphemes differ from utf8proc's, as far as it shows.

Precompiled looks up graphemes of fewer than six bytes, so it tells whether a code point joins the one before it. Three small
maps show it: of "a", and of the lead bytes of UTF-8. Run: python ref/grapheme_exceptions.py > src/text/grapheme_exceptions.h
"""

import base64
import ctypes
import ctypes.util
import json
import struct
import sys

import tokenizers
from tokenizers import Tokenizer

U = ctypes.CDLL(ctypes.util.find_library("utf8proc") or "libutf8proc.so.2")
U.utf8proc_version.restype = ctypes.c_char_p


def precompiled(keys):
    """The normaliser that replaces each of the bytes by X."""
    units = [0] * 0x400
    units[0] = 0x100 << 10
    for b in keys:
        units[0x100 ^ b] = 0x200 << 10 | 1 << 8 | b
        units[0x300 ^ b] = 1 << 31
    blob = struct.pack("<I", 4 * len(units)) + struct.pack("<%dI" % len(units), *units) + b"X\0"
    step = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(blob).decode()}
    model = {"type": "WordLevel", "vocab": {"u": 0}, "unk_token": "u"}
    file = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": step, "pre_tokenizer": None,
            "post_processor": None, "decoder": None, "model": model}
    return Tokenizer.from_str(json.dumps(file)).normalizer.normalize_str


def joined(text):
    """Whether utf8proc sees one grapheme in all of the text."""
    state = ctypes.c_int32(0)
    points = [ord(c) for c in text]
    return not any([U.utf8proc_grapheme_break_stateful(a, b, ctypes.byref(state)) for a, b in zip(points, points[1:])])


U.utf8proc_grapheme_break_stateful.restype = ctypes.c_bool


def main():
    letter, lead = precompiled([0x61]), precompiled(range(0xC2, 0xF5))
    found = {}
    for c in range(0x80, 0x110000):
        if 0xD800 <= c < 0xE000:
            continue
        s, f = chr(c), []
        extends, prepends = letter("a" + s) == "X", lead(s + "a") == "X"
        pictures = len(lead("\u00a9\u200d" + s)) == 3
        if extends != joined("a" + s):
            f.append("EXTENDS" if extends else "EXTENDS_NOT")
        if prepends != joined(s + "a"):
            f.append("PREPENDS" if prepends else "PREPENDS_NOT")
        if not extends and pictures != joined("\u00a9\u200d" + s):
            f.append("PICTURES" if pictures else "PICTURES_NOT")
        if f:
            assert len(f) == 1, (hex(c), f)
            found[c] = f[0]
    ranges = []
    for c, f in sorted(found.items()):
        if ranges and ranges[-1][1] == c - 1 and ranges[-1][2] == f:
            ranges[-1][1] = c
        else:
            ranges.append([c, c, f])
    print("// Written by ref/grapheme_exceptions.py; not edited by hand.")
    print("// Reference: tokenizers %s. utf8proc: %s." % (tokenizers.__version__, U.utf8proc_version().decode()))
    print("#ifndef SABOK_GRAPHEME_EXCEPTIONS_H\n#define SABOK_GRAPHEME_EXCEPTIONS_H\n\n#include <stdint.h>\n")
    print("// What a code point is to the reference, where utf8proc says otherwise.")
    print("enum grapheme_class {")
    for name in ("PLAIN", "EXTENDS", "PREPENDS", "PICTURES"):
        print("    GRAPHEME_%s," % name)
    print("};\n")
    print("static const struct {\n    uint32_t first, last;\n    enum grapheme_class is;\n} grapheme_exceptions[] = {")
    for a, b, f in ranges:
        print("    {0x%x, 0x%x, GRAPHEME_%s}," % (a, b, "PLAIN" if f.endswith("_NOT") else f))
    print("};\n\n#endif")


if __name__ == "__main__":
    sys.exit(main())
