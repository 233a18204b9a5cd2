"""What the reference's BERT normaliser and pre-tokenizer do with every code point, one at a time.

The reference's category tables are older than its lower-casing and decomposition tables, and its ideograph ranges are
its own, so a Unicode library of any one version does not give these answers.
"""

import json
from pathlib import Path

from tokenizers import normalizers, pre_tokenizers

HANGUL = range(0xAC00, 0xD7A4)
SCALARS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def _normalizer(**on: bool) -> normalizers.BertNormalizer:
    flags = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    return normalizers.BertNormalizer(**{**flags, **on})


def classes() -> dict[str, list[int]]:
    """The code points that cleaning drops or turns into a space, that are ideographs, that split or separate words."""
    clean, ideographs = _normalizer(clean_text=True), _normalizer(handle_chinese_chars=True)
    pre = pre_tokenizers.BertPreTokenizer()
    out: dict[str, list[int]] = {"drop": [], "space": [], "ideograph": [], "punctuation": [], "separator": []}
    for c in SCALARS:
        text = "a" + chr(c) + "b"
        cleaned = clean.normalize_str(text)
        if cleaned == "ab":
            out["drop"].append(c)
        elif cleaned == "a b":
            out["space"].append(c)
        else:
            assert cleaned == text, hex(c)
        spaced = ideographs.normalize_str(text)
        if spaced == "a " + chr(c) + " b":
            out["ideograph"].append(c)
        else:
            assert spaced == text, hex(c)
        words = [word for word, _ in pre.pre_tokenize_str(text)]
        if words == ["a", chr(c), "b"]:
            out["punctuation"].append(c)
        elif words == ["a", "b"]:
            out["separator"].append(c)
        else:
            assert words == [text], hex(c)
    return out


def maps() -> dict[str, dict[int, str]]:
    """What a code point becomes, where it changes: decomposed without its marks, and in lower case."""
    strip, lower = _normalizer(strip_accents=True), _normalizer(lowercase=True)
    out: dict[str, dict[int, str]] = {"strip": {}, "lower": {}}
    for c in SCALARS:
        stripped = strip.normalize_str(chr(c))
        if c in HANGUL:
            assert stripped == _jamo(c), hex(c)
        elif stripped != chr(c):
            out["strip"][c] = stripped
        lowered = lower.normalize_str(chr(c))
        if lowered != chr(c):
            out["lower"][c] = lowered
    return out


def _jamo(c: int) -> str:
    """A Hangul syllable's letters, by the arithmetic of the Unicode standard, section 3.12."""
    s = c - 0xAC00
    tail = s % 28
    return chr(0x1100 + s // 588) + chr(0x1161 + s % 588 // 28) + (chr(0x11A7 + tail) if tail else "")


def ranges(points: list[int]) -> list[list[int]]:
    out: list[list[int]] = []
    for c in points:
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def write_unicode(path: Path) -> None:
    """One JSON object a line: {"kind", "ranges": [[first, last], ...]} or {"kind", "map": [[from, to, to, ...], ...]}."""
    changed = maps()
    marks = [c for c, to in changed["strip"].items() if to == ""]
    lines: list[dict[str, object]] = [{"kind": k, "ranges": ranges(points)} for k, points in classes().items()]
    lines.append({"kind": "mark", "ranges": ranges(marks)})
    for kind, table in changed.items():
        rows = [[c, *map(ord, to)] for c, to in table.items() if to != ""]
        lines.append({"kind": kind, "map": rows})
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")
