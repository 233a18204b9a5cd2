"""Texts that tokenizers get wrong, and random ones made from the same characters."""

import random

# From public bug reports: shared/reference/bugs.md numbers them.
REPORTED = {
    2: ["schön", "Müller", "café"],
    4: ["アリババ株式会社の公式サイトです"],
    6: ["大家好我是GPT", "カタカナとひらがな", "한국어도"],
    8: ["\u00ad", "\u200b", "a\u200db", "so\u00adft"],
    10: ["shoot\u0097 TOO much fun", "shoot TOO much fun"],
    12: ["Cretaceous–Paleogene", "a—b‐c", "5€ 3£ ¥", "a+b=c<d>e|f~g`h^i$j"],
    14: ["unwantedX", "Texas", "unwanted"],
    16: ["하셨습니까", "하셨습니까 하셨"],
}

PLAIN = [
    "",
    " ",
    "\t\n \r\n",
    "a",
    "The cat plays with him.",
    "The man said: \"don't!\", then he was out...",
    "HELLO World MiXeD",
    "running runs runner runn",
    "(a)[b]{c}<d>",
    "1234567890 12.5 1,000 3-4",
    "  leading and trailing  ",
    "line\nfeed\r\nand\rreturn\ttab\vvertical\fform",
]

UNICODE = [
    "naïve façade Ångström Ñandú",
    "e\u0301 E\u0301 u\u0308 n\u0303o",  # letters and combining marks
    "a\u0301\u0323b a\u0323\u0301b",  # two marks, in both orders
    "\u0301 alone at the start",
    "Å \u212b A\u030a",  # three spellings of one letter
    "\u1e9b\u0323 \u1e69 s\u0323\u0307",
    "İstanbul ı I i ŞŞ",
    "ΑΣ ΑΣΑ Σ σς ΌΣΟΣ",
    "ſ K ẞ ß ŒUVRE ǅ ﬁ ﬀ",
    "中国 and 国中a中",
    "㐀 䶿 一 鿿 豈 﫿 𠀀 𪛟 𪜀 𫠝 𫠠 𫤠 𬺯 \U0002f800 \U0002fa1d",
    "漢字とカナ混じり、文。「括弧」",
    "が か\u3099 ぱ は\u309a ｶﾞ",
    "각 \u1100\u1161\u11a8 가\u11a8 ᄒ 힣",
    "สวัสดี ครับ नमस्ते किसानों தமிழ்",
    "שָׁלוֹם عَرَبِيّ \u0640 العربية",
    "привет Ёлка й и\u0306",
    "emoji 🙂 👩\u200d💻 🇩🇪 ❤\ufe0f 1\ufe0f\u20e3 👍🏽",
    "nbsp\u00a0thin\u2009ideo\u3000narrow\u202fogham\u1680line\u2028para\u2029math\u205fend",
    "next\u0085line zero\u200bwidth join\u200dner bom\ufeffend nj\u200cx word\u2060joiner mongol\u180esep",
    "null\x00bell\x07esc\x1bdel\x7fend",
    "replace\ufffdment private\ue000use plane\U000f0000fifteen \U0010fffd",
    "unassigned \u0378 \U000e0fff \U0003fffe noncharacter \ufdd0 \uffff",
    "tag \U000e0041\U000e007f variation \ufe0e\U000e0100",
    "new punctuation \u2e4f\u2e52 old \u2e42 \u166d \U00011fff",
    "newer marks x\u1abfx x\u0898x x\u1734x x\U0001e944x",
    "Cherokee Ꭰꭰ Georgian Აა Ა adlam 𞤀 deseret 𐐀 vithkuqi \U00010570",
    "math 𝐀𝒷𝟘 ½ ² ㎏ № ⅷ ① ㌀",
    "quotes ‘a’ “b” «c» ‹d› „e‟ ¿f? ¡g! …",
    "\u2014\u2013\u2012\u2010\u00b7\u2022\u00a7\u00b6\u2020",
    "symbols © ® ™ ° ± × ÷ ¬ µ ¢ ¤ ¦ ¨ ¯ ´ ¸ ` ^ ~ | \\ / _",
    "a_b snake_case __init__ x.y.z user@host http://a.b/c?d=e&f#g",
    "\u202eright to left\u202c \u2066isolate\u2069",
]

LONG = [
    "a" * 99,
    "a" * 100,
    "a" * 101,
    "a" * 100 + " " + "b" * 101 + " c",
    "é" * 100,
    "é" * 101,
    "e\u0301" * 51,  # 102 characters, 51 once the marks are gone
    "각" * 34,  # 102 jamo
    "中" * 101,
    "." * 120,
    "x" * 250 + ".",
    "the " * 40,
]

ADDED_SPELLINGS = ["[MASK]", "a[MASK]b", "[CLS] inside [SEP]", "[mask] [Mask]", "[UNK] [PAD]", "[MASK][MASK] [MASK", "[[MASK]]"]

# Characters for random texts, in groups so that each text draws from few of them.
_GROUPS = [
    "abcdefghijklmnopqrstuvwxyz",
    "ABCXYZ the of and",
    "0123456789.,-'\"()!?",
    "éèêñçüÄÖØßİıſΣσς",
    "\u0301\u0308\u0323\u0327\u0345\u1abf\u3099",
    "中国人大家日本語㐀𠀀豈",
    "アイカガバパのです",
    "한국어각ᄒ\u1161\u11a8",
    " \t\n\u00a0\u3000\u2028",
    "\u00ad\u200b\u200d\ufeff\u0000\u0097\ufffd\ue000",
    "–—“”‘’…€£·§«»",
    "🙂👍🏽❤\ufe0f\u20e3𝐀½²",
    "שלוםعربيةनमस्ते",
]


def random_texts(count: int, seed: int, longest: int = 24) -> list[str]:
    draw = random.Random(seed)
    texts = []
    for _ in range(count):
        groups = draw.sample(_GROUPS, draw.randint(1, 4)) + [" "]
        texts.append("".join(draw.choice(draw.choice(groups)) for _ in range(draw.randint(1, longest))))
    return texts


def all_texts() -> list[str]:
    reported = [text for texts in REPORTED.values() for text in texts]
    return PLAIN + reported + UNICODE + LONG + ADDED_SPELLINGS
