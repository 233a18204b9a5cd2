"""Writes src/text/scan_exceptions.h: where letters and numbers of the reference's patterns differ from utf8proc's and from PCRE2's.

The reference's regular expressions (Oniguruma's) have tables of a later Unicode version. Every code point but the surrogates
is tried. Run: python ref/scan_exceptions.py > src/text/scan_exceptions.h
"""

import ctypes
import ctypes.util
import sys

import tokenizers
from tokenizers import Regex, pre_tokenizers

U = ctypes.CDLL(ctypes.util.find_library("utf8proc") or "libutf8proc.so.2")
U.utf8proc_version.restype = ctypes.c_char_p
U.utf8proc_category_string.restype = ctypes.c_char_p
P = ctypes.CDLL(ctypes.util.find_library("pcre2-8") or "libpcre2-8.so.0")
P.pcre2_compile_8.restype = P.pcre2_match_data_create_8.restype = ctypes.c_void_p
UTF, UCP = 0x00080000, 0x00020000


def pcre(pattern):
    """A test whether PCRE2 finds the pattern in a string."""
    code, where = ctypes.c_int(), ctypes.c_size_t()
    raw = pattern.encode()
    regex = P.pcre2_compile_8(raw, ctypes.c_size_t(len(raw)), UTF | UCP, ctypes.byref(code), ctypes.byref(where), None)
    data = P.pcre2_match_data_create_8(1, None)

    def found(text):
        b = text.encode()
        return P.pcre2_match_8(ctypes.c_void_p(regex), b, ctypes.c_size_t(len(b)), ctypes.c_size_t(0), 0, ctypes.c_void_p(data), None) >= 0

    return found


def ranges(points):
    out = []
    for c in points:
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def show(name, what, points):
    print("// %s" % what)
    print("static const uint32_t %s[][2] = {" % name)
    for a, b in ranges(points):
        print("    {0x%x, 0x%x}," % (a, b))
    print("};\n")


def main():
    lists = {name: [] for name in ("letter", "number", "pcre_letter", "pcre_number")}
    for prop, name in (("L", "letter"), ("N", "number")):
        reference = pre_tokenizers.Split(Regex(r"\p{%s}" % prop), "isolated").pre_tokenize_str
        ours = pcre(r"\p{%s}" % prop)
        for c in range(0x110000):
            if 0xD800 <= c < 0xE000:
                continue
            s = chr(c)
            want = len(reference("-" + s + "-")) == 3
            if want != (U.utf8proc_category_string(c).decode()[0] == prop):
                assert want, hex(c)
                lists[name].append(c)
            if want != ours(s):
                assert want, hex(c)
                lists["pcre_" + name].append(c)
    print("// Written by ref/scan_exceptions.py; not edited by hand.")
    print("// Reference: tokenizers %s. utf8proc: %s." % (tokenizers.__version__, U.utf8proc_version().decode()))
    print("#ifndef SABOK_SCAN_EXCEPTIONS_H\n#define SABOK_SCAN_EXCEPTIONS_H\n\n#include <stdint.h>\n")
    show("scan_letters", "Letters of the reference that utf8proc has not.", lists["letter"])
    show("scan_numbers", "Numbers likewise.", lists["number"])
    show("pcre_letters", "Letters of the reference that PCRE2 may not have.", lists["pcre_letter"])
    show("pcre_numbers", "Numbers likewise.", lists["pcre_number"])
    print("#endif")


if __name__ == "__main__":
    sys.exit(main())
