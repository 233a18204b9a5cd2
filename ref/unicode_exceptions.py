"""Writes src/text/char_exceptions.h: the code points where the reference's Unicode tables differ from utf8proc's.

The reference (the `tokenizers` package of requirements.txt) mixes three Unicode versions: its categories are those of
Unicode 8, its normal forms those of Unicode 9, its letter cases and word characters those of its compiler. src/text asks
utf8proc, and then this table. Every code point but the surrogates is tried; combining classes are found by the order in
which pairs come out of NFD. Run: python ref/unicode_exceptions.py > src/text/char_exceptions.h
"""

import ctypes
import ctypes.util
import sys

import tokenizers
from tokenizers import normalizers, pre_tokenizers

U = ctypes.CDLL(ctypes.util.find_library("utf8proc") or "libutf8proc.so.2")
U.utf8proc_version.restype = ctypes.c_char_p
U.utf8proc_unicode_version.restype = ctypes.c_char_p
U.utf8proc_category_string.restype = ctypes.c_char_p
U.utf8proc_decompose_char.restype = ctypes.c_ssize_t
STABLE, COMPAT, DECOMPOSE = 1 << 1, 1 << 2, 1 << 4

ASCII_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
FLAGS = ["SPACE", "OTHER", "PUNCT", "NONSPACING", "MARK", "WORD", "NUMERIC", "STARTER", "NO_CANONICAL", "NO_COMPAT"]


def category(c):
    return U.utf8proc_category_string(c).decode()


def decompose(c, compat):
    buffer, boundary = (ctypes.c_int32 * 64)(), ctypes.c_int(0)
    n = U.utf8proc_decompose_char(c, buffer, 64, DECOMPOSE | (COMPAT if compat else 0), ctypes.byref(boundary))
    return "".join(map(chr, buffer[:n]))


def is_word(c, k):
    enclosed = 0x24B6 <= c <= 0x24E9 or 0x1F130 <= c <= 0x1F149 or 0x1F150 <= c <= 0x1F169 or 0x1F170 <= c <= 0x1F189
    return k[0] in "LM" or k in ("Nd", "Nl", "Pc") or c in (0x200C, 0x200D) or enclosed


def is_space(c, k):
    return k in ("Zs", "Zl", "Zp") or 9 <= c <= 13 or c == 0x85


def sweep():
    clean = normalizers.BertNormalizer(True, False, False, False).normalize_str
    accents = normalizers.BertNormalizer(False, False, True, False).normalize_str
    lower, nfd, nfkd = (n().normalize_str for n in (normalizers.Lowercase, normalizers.NFD, normalizers.NFKD))
    strip = normalizers.StripAccents().normalize_str
    bert, word, space, digits = (
        p.pre_tokenize_str
        for p in (
            pre_tokenizers.BertPreTokenizer(),
            pre_tokenizers.Whitespace(),
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Digits(False),
        )
    )
    flags, lowers = {}, {}
    for c in range(0x110000):
        if 0xD800 <= c < 0xE000:
            continue
        s, k = chr(c), category(c)
        canonical, compat = nfd(s), nfkd(s)
        f = set()
        if (len(space("a" + s + "b")) == 2) != is_space(c, k):
            f.add("SPACE")
        if c not in (0, 9, 10, 13, 0xFFFD) and (clean(s) == "") != (k in ("Cc", "Cf", "Co")):
            f.add("OTHER")
        if (len(bert("a" + s + "b")) == 3) != (k[0] == "P" or s in ASCII_PUNCTUATION):
            f.add("PUNCT")
        if canonical == s and (accents(s) == "") != (k == "Mn"):
            f.add("NONSPACING")
        if (strip(s) == "") != (k[0] == "M"):
            f.add("MARK")
        if (word("a" + s)[0][0] == "a" + s) != is_word(c, k):
            f.add("WORD")
        if (len(digits("a" + s)) == 2) != (k in ("Nd", "Nl", "No")):
            f.add("NUMERIC")
        if canonical == s:
            moves = nfd("a\u0345" + s) != "a\u0345" + s or nfd("a" + s + "\u0334") != "a" + s + "\u0334"
            own = combining(c)
            assert moves in (False, own != 0), hex(c)
            if own != 0 and not moves:
                f.add("STARTER")
        if canonical != decompose(c, False):
            assert canonical == s, hex(c)
            f.add("NO_CANONICAL")
        if compat != decompose(c, True):
            assert compat == s, hex(c)
            f.add("NO_COMPAT")
        if f:
            flags[c] = f
        if lower(s) != chr(U.utf8proc_tolower(c)) and c != 0x130:
            assert len(lower(s)) == 1, hex(c)
            lowers[c] = ord(lower(s))
    return flags, lowers


class Property(ctypes.Structure):
    _fields_ = [("category", ctypes.c_int16), ("combining_class", ctypes.c_int16)]


U.utf8proc_get_property.restype = ctypes.POINTER(Property)


def combining(c):
    return U.utf8proc_get_property(c).contents.combining_class


def main():
    flags, lowers = sweep()
    print("// Written by ref/unicode_exceptions.py; not edited by hand.")
    print("// Reference: tokenizers %s. utf8proc: %s, Unicode %s." % (
        tokenizers.__version__, U.utf8proc_version().decode(), U.utf8proc_unicode_version().decode()))
    print("#ifndef SABOK_CHAR_EXCEPTIONS_H\n#define SABOK_CHAR_EXCEPTIONS_H\n\n#include <stdint.h>\n")
    print("// What the reference answers differently, as bits to turn over.")
    print("enum char_exception {")
    for i, name in enumerate(FLAGS):
        print("    EXCEPT_%s = 1 << %d," % (name, i))
    print("};\n")
    print("static const struct {\n    uint32_t first, last;\n    unsigned flags;\n} char_exceptions[] = {")
    ranges = []
    for c in sorted(flags):
        if ranges and ranges[-1][1] == c - 1 and ranges[-1][2] == flags[c]:
            ranges[-1][1] = c
        else:
            ranges.append([c, c, flags[c]])
    for first, last, f in ranges:
        print("    {0x%x, 0x%x, %s}," % (first, last, " | ".join("EXCEPT_" + n for n in FLAGS if n in f)))
    print("};\n")
    print("// Lower-case letters newer than utf8proc's tables: c -> c + step for c in [first, last].")
    print("static const struct {\n    uint32_t first, last;\n    int32_t step;\n} char_lower_exceptions[] = {")
    ranges = []
    for c in sorted(lowers):
        step = lowers[c] - c
        if ranges and ranges[-1][1] == c - 1 and ranges[-1][2] == step:
            ranges[-1][1] = c
        else:
            ranges.append([c, c, step])
    for first, last, step in ranges:
        print("    {0x%x, 0x%x, %d}," % (first, last, step))
    print("};\n\n#endif")


if __name__ == "__main__":
    sys.exit(main())
