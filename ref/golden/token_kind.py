"""The tokenizers under test/golden/tokenizer/: small vocabularies, every part that WordPiece files use."""

import itertools
import json
import unicodedata
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

from golden import text as texts
from golden.vocab import SPECIALS, bert_template, bert_tokenizer, bert_vocab

_PIECES = (
    "un ##want ##ed texas cretaceous pa ##leo ##gene schon schön mu ##ller mü ##llo caf ##é ##e hello world Hello "
    "shoot too much fun don ##t run runn ##ning ##runn naive naïve istanbul 大家 ##家 カタ ##カナ gpt GPT 하 ##셨 한국 "
    "##12 12 100 ##000 ## ##[ [MASK ... -- http"
).split()


def rich_vocab(keep: int = 5) -> list[str]:
    """bert_vocab and most characters of the tricky texts, in every form that a normaliser could give them."""
    vocab = dict.fromkeys(bert_vocab(cased=True) + _PIECES)
    seen: dict[str, None] = {}
    for text in texts.all_texts():
        for form in (text, unicodedata.normalize("NFD", text), unicodedata.normalize("NFKC", text)):
            seen.update(dict.fromkeys(form + form.lower()))
    for c in sorted(seen):
        # One in `keep` is left out, so that unknown words occur in every script.
        if c.isspace() or ord(c) < 32 or zlib.crc32(c.encode()) % keep == 0:
            continue
        vocab.setdefault(c)
        if zlib.crc32(c.encode()) % 3 == 0:
            vocab.setdefault("##" + c)
    # Hangul and kana of the reported texts are known in full, whole and in letters, so that their offsets show.
    for text in texts.REPORTED[4] + texts.REPORTED[6] + texts.REPORTED[16]:
        for c in text + unicodedata.normalize("NFD", text):
            if ord(c) > 127 and not "\u4e00" <= c <= "\u9fff":
                vocab.update(dict.fromkeys((c, "##" + c)))
    return list(vocab)


# What splitters disagree on: blanks, digits, symbols and marks of many scripts.
_SPLIT_TEXTS = [t for t in texts.UNICODE if any(c in t for c in "½’—®_नه🙂\u1abf\u2e4f\u1680\u0085\u3099")]

VOCAB = rich_vocab()
IDS = {token: i for i, token in enumerate(VOCAB)}


@dataclass
class Kind:
    """One folder: a tokenizer, and the texts and options it is run with."""

    name: str
    what: str
    tokenizer: Tokenizer
    texts: list[str]
    vocab_only: bool = False  # vocab.txt and tokenizer_config.json in place of tokenizer.json
    lowercase: bool = True  # for tokenizer_config.json
    options: list[dict[str, object]] = field(default_factory=list)
    option_texts: list[str | tuple[str, str]] = field(default_factory=list)


def _short_tokenizer(**parts: object) -> Tokenizer:
    """A tokenizer on a vocabulary of ASCII, with some parts set."""
    tok = bert_tokenizer(bert_vocab())
    for name, part in parts.items():
        setattr(tok, name, part)
    return tok


def _without(tok: Tokenizer, *parts: str) -> Tokenizer:
    """The same tokenizer with those parts null in its file."""
    value = json.loads(tok.to_str())
    value.update(dict.fromkeys(parts))
    return Tokenizer.from_str(json.dumps(value))


def _normaliser_kinds() -> list[Kind]:
    every = texts.all_texts()
    few = [t for r in texts.REPORTED.values() for t in r] + texts.UNICODE
    flags = [
        ("uncased", "lower case, accents stripped as a consequence", dict(lowercase=True), every + texts.random_texts(100, 1)),
        ("cased", "nothing but cleaning and ideographs", dict(lowercase=False), every + texts.random_texts(40, 2)),
        ("accents-kept", "lower case, strip_accents false", dict(lowercase=True, strip_accents=False), few),
        ("accents-stripped", "cased, strip_accents true", dict(lowercase=False, strip_accents=True), few),
        ("ideographs-joined", "handle_chinese_chars false", dict(lowercase=True, handle_chinese_chars=False), few),
        ("controls-kept", "clean_text false", dict(lowercase=True, clean_text=False), few),
    ]
    return [Kind(name, what, bert_tokenizer(VOCAB, **f), t) for name, what, f, t in flags]


def _vocab_kinds() -> list[Kind]:
    few = texts.PLAIN + [t for r in texts.REPORTED.values() for t in r] + texts.ADDED_SPELLINGS
    return [
        Kind("vocab-uncased", "vocab.txt alone", bert_tokenizer(VOCAB), few, vocab_only=True),
        Kind("vocab-cased", "vocab.txt, do_lower_case false", bert_tokenizer(VOCAB, False), few, True, lowercase=False),
    ]


def _model_kinds() -> list[Kind]:
    words = ["abcdef abcde", "aéiou! abcdéf", "xy xyz xyzzy", "unknown é?", "the cat", "αβγδε αβγδεζ"]
    pieces = ["<none>", "<s>", "</s>", "a", "b", "c", "x", "xy", "@@b", "@@c", "@@d", "@@e", "@@f", "@@z", "@@zz", "the"]
    other = Tokenizer(
        models.WordPiece(
            {p: i for i, p in enumerate(pieces)},
            unk_token="<none>",
            continuing_subword_prefix="@@",
            max_input_chars_per_word=5,
        )
    )
    other.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    torn = {p: i for i, p in enumerate("[PAD] [UNK] [CLS] [SEP] [MASK] un ##want ##ed tex ##as ##a ##s the".split())}
    partial = bert_tokenizer(list(torn))
    torn_words = ["unwantedX", "unwanted", "Texas", "texasx", "un", "unwant", "wanted", "the unx the", "##want", "unun"]
    bare = Tokenizer(models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token="<none>", continuing_subword_prefix=""))
    return [
        Kind("model-other", "other unknown token and prefix, five characters a word, no normaliser or template", other, words),
        Kind("model-partial", "words of which only a part is known", partial, torn_words),
        Kind("model-bare", "empty prefix, no pre-tokenizer", bare, words + ["abc the", "xyzzc"]),
    ]


def _chain_kinds() -> list[Kind]:
    """Normalisers and pre-tokenizers that files put in place of BERT's own."""
    few = texts.UNICODE + ["  The don't  on\n", "하셨습니까", "a\u0097b\u00ad"]
    N, P = normalizers, pre_tokenizers
    chains = {
        "lowercase": N.Lowercase(),
        "nfd": N.NFD(),
        "nfc": N.NFC(),
        "nfkc": N.NFKC(),
        "nfkd": N.NFKD(),
        "nfd-strip-lower": N.Sequence([N.NFD(), N.StripAccents(), N.Lowercase()]),
        "lower-bert": N.Sequence([N.Lowercase(), N.BertNormalizer(lowercase=False)]),
        "strip-replace": N.Sequence([N.Strip(), N.Replace("a", "the "), N.Replace("on", ""), N.Replace("é", "e")]),
    }
    out = []
    for name, normalizer in chains.items():
        tok = bert_tokenizer(VOCAB)
        tok.normalizer = normalizer
        out.append(Kind("normalizer-" + name, f"normalizer {name}", tok, few))
    splits = {
        "whitespace": P.Whitespace(),
        "whitespace-split": P.WhitespaceSplit(),
        "digits": P.Sequence([P.WhitespaceSplit(), P.Digits(individual_digits=False)]),
        "digits-individual": P.Sequence([P.Whitespace(), P.Digits(individual_digits=True)]),
        "delimiter": P.Sequence([P.BertPreTokenizer(), P.CharDelimiterSplit("s")]),
    }
    for behaviour in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"):
        splits["punctuation-" + behaviour.replace("_", "-")] = P.Sequence([P.WhitespaceSplit(), P.Punctuation(behaviour)])
    marks = ["a..b", "..a", "a..", "...", "a.,b", "a. .b", ".a.b.", "12a34 5.6", "½ ² ٣ ௧ Ⅷ", "s", "sss as sa"]
    for name, pre_tokenizer in splits.items():
        tok = _short_tokenizer()
        tok.pre_tokenizer = pre_tokenizer
        out.append(Kind("split-" + name, f"pre-tokenizer {name}", tok, marks + texts.PLAIN + _SPLIT_TEXTS))
    return out


def _template_kinds() -> list[Kind]:
    ids = {token: i for i, token in enumerate(bert_vocab())}
    inputs: list[str | tuple[str, str]] = ["", "the cat", ("the", "cat dog"), ("", ""), ("the", ""), ("", "cat")]
    options: list[dict[str, object]] = [{}, {"no_special": True}]
    roberta_like = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 [SEP]:1 $B:2 [SEP]:0",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )
    turned = processors.TemplateProcessing(
        single="$A:1 [SEP]:1",
        pair="$B:1 [MASK]:0 $A:0",
        special_tokens=[("[MASK]", ids["[MASK]"]), ("[SEP]", ids["[SEP]"])],
    )
    twin = processors.TemplateProcessing(
        single="two $A",
        pair="$A two $B",
        special_tokens=[{"id": "two", "ids": [ids["the"], ids["dog"]], "tokens": ["the", "dog"]}],
    )
    old = processors.BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    out = []
    for name, post in {"doubled": roberta_like, "turned": turned, "twin": twin, "old": old}.items():
        tok = _short_tokenizer(post_processor=post)
        out.append(Kind("template-" + name, f"post-processor {name}", tok, [], options=options, option_texts=inputs))
    tok = _without(bert_tokenizer(bert_vocab()), "post_processor")
    out.append(Kind("template-none", "no post-processor", tok, [], options=options, option_texts=inputs))
    return out


def _truncation_kinds() -> list[Kind]:
    letters = [chr(ord("a") + i % 26) for i in range(130)]
    ten, four = " ".join(letters[:10]), " ".join(letters[20:24])
    inputs: list[str | tuple[str, str]] = [
        "",
        ten,
        "running playing",
        (ten, four),
        (four, ten),
        (four, ""),
        ("", ten),
        "[MASK] " + ten + " [SEP]",
    ]
    options: list[dict[str, object]] = []
    for strategy, length in itertools.product(("longest_first", "only_first", "only_second"), (3, 7, 8, 12)):
        options.append({"truncation": strategy, "max_length": length})
        for stride in (0, 2):
            options.append({"truncation": strategy, "max_length": length, "stride": stride, "overflow": True})
    options.append({"truncation": "longest_first", "max_length": 7, "stride": 4, "overflow": True})
    options.append({"truncation": "only_first", "max_length": 5, "stride": 1, "overflow": True, "no_special": True})
    # Where the special tokens alone are too many, the reference cuts nothing.
    options += [{"truncation": "longest_first", "max_length": n} for n in (1, 2)]
    options += [{"truncation": "longest_first", "max_length": n, "no_special": True} for n in (1, 2)]
    cut = Kind("truncation", "every strategy, with stride and windows", _short_tokenizer(), [], options=options, option_texts=inputs)

    # bugs.md 42 and 44.
    long_pair = (" ".join(letters[:125]), " ".join(letters[:130]))
    fifty = " ".join(letters[:50])
    reported = Kind(
        "truncation-reported",
        "a pair of 125 and 130 tokens to 128; windows of 40 over 50 ids",
        _short_tokenizer(),
        [],
        options=[
            {"truncation": "longest_first", "max_length": 128},
            {"truncation": "longest_first", "max_length": 40, "stride": 20, "overflow": True},
            {"truncation": "longest_first", "max_length": 40, "stride": 20, "overflow": True, "no_special": True},
        ],
        option_texts=[long_pair, fifty],
    )

    out = [cut, reported]
    for name, direction in (("baked", "right"), ("baked-left", "left")):
        tok = _short_tokenizer()
        tok.enable_truncation(7, stride=2, strategy="longest_first", direction=direction)
        out.append(
            Kind(name, f"the file itself truncates to 7, {direction}", tok, [], options=[{}, {"overflow": True}], option_texts=inputs)
        )
    return out


FLAG_NAMES = ("single_word", "lstrip", "rstrip", "normalized", "special")


def _added_kinds() -> list[Kind]:
    out = []
    for special in (False, True):
        tok = bert_tokenizer(bert_vocab())
        for flags in itertools.product((False, True), repeat=4):
            kwargs = dict(zip(FLAG_NAMES, (*flags, special)))
            tok.add_tokens([AddedToken(_added_spelling(flags), **kwargs)])
        spellings = [_added_spelling(flags) for flags in itertools.product((False, True), repeat=4)]
        kind = "special" if special else "plain"
        out.append(Kind("added-" + kind, f"{kind} added tokens with every set of flags", tok, _added_texts(spellings)))
    tok = bert_tokenizer(VOCAB)
    odd = ["ab", "abc", "abcd", "bcd", "new york", "Né", "né", "中国人", "İx", "e\u0301x", "<|user|>", "!!", " sp ", "the", "##ing"]
    for spelling in odd:
        tok.add_tokens([AddedToken(spelling, normalized=spelling in ("Né", "İx", "e\u0301x", "the", "中国人"))])
    tok.add_special_tokens([AddedToken("<|user|>", rstrip=True, normalized=False)])
    overlaps = [
        "ab abc abcd abcde xabcdx bcd abbcd ababcd",
        "new york new  york New York newyork",
        "né Né NÉ ne NE n\u00e9 ne\u0301",
        "中国人中国 人中国人",
        "İx ix i\u0307x Ix",
        "éx e\u0301x ex",
        "<|user|>Hello", "<|user|> Hello", "<|user|>  \n Hello <|user|>", "a<|user|>b",
        "!! !!! !!!! a!!b",
        "a sp b  sp  asp spa",
        "the The THE other them",
        "run##ing running ##ing",
        "",
        " ",
    ]
    out.append(Kind("added-odd", "added tokens that overlap, have spaces, accents, or a place in the vocabulary", tok, overlaps))
    return out


def _added_spelling(flags: tuple[bool, ...]) -> str:
    """<Xlr> for a token that is its own word, strips left and right; capitals show what normalising does."""
    return "<T" + "".join(letter if on else "o" for letter, on in zip("wlrn", flags)) + ">"


def _added_texts(spellings: Iterable[str]) -> list[str]:
    out = []
    for s in spellings:
        bare = s[1:-1]
        out += [f"a {s} b", f"a{s}b", f"  {s}  \n {s}\t", f"{s}{s} {s}", f"é{s} _{s}. {s}9", f"{s.lower()} {s.upper()}", f"<{bare} >{bare}>"]
    return out


def kinds() -> list[Kind]:
    groups = (_normaliser_kinds, _vocab_kinds, _model_kinds, _chain_kinds, _template_kinds, _truncation_kinds, _added_kinds)
    return [kind for group in groups for kind in group()]
