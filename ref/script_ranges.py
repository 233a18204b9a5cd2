"""Writes src/text/script_ranges.h: the writing systems that the reference's UnicodeScripts tells apart.

Two code points are of one script when nothing is cut between them. Script 0 is cut from nothing (blanks, code points without a
script). Every code point but the surrogates is tried. Run: python ref/script_ranges.py > src/text/script_ranges.h
"""

import sys

import tokenizers
from tokenizers import pre_tokenizers

split = pre_tokenizers.UnicodeScripts().pre_tokenize_str


def main():
    examples, ranges, last = [], [], None
    for c in range(0x110000):
        if 0xD800 <= c < 0xE000:
            continue
        s = chr(c)
        if not split(s):
            script = 0
        elif last and len(split(examples[last - 1] + s)) == 1:
            script = last
        else:
            script = next((i + 1 for i, e in enumerate(examples) if len(split(e + s)) == 1), None)
            if script is None:
                examples.append(s)
                script = len(examples)
        if script:
            if ranges and ranges[-1][1] == c - 1 and ranges[-1][2] == script:
                ranges[-1][1] = c
            else:
                ranges.append([c, c, script])
        last = script
    print("// Written by ref/script_ranges.py; not edited by hand.")
    print("// Reference: tokenizers %s." % tokenizers.__version__)
    print("#ifndef SABOK_SCRIPT_RANGES_H\n#define SABOK_SCRIPT_RANGES_H\n\n#include <stdint.h>\n")
    print("// Scripts by number, in order; code points outside are of script 0.")
    print("static const struct {\n    uint32_t first, last, script;\n} script_ranges[] = {")
    items = ["{0x%x, 0x%x, %d}" % tuple(r) for r in ranges]
    for i in range(0, len(items), 4):
        print("    %s," % ", ".join(items[i : i + 4]))
    print("};\n\n#endif")


if __name__ == "__main__":
    sys.exit(main())
