"""Folders without tokenizer.json, as the slow tokenizers of transformers 4 are converted, and small tokenizer.json of every
model. Runs with the versions of requirements-4.txt: the classes are gone from transformers 5."""

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import sentencepiece
import transformers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers.decoders import DecodeStream

from golden.text import all_texts, random_texts
from golden.tokenizer import run_case

# A charsmap of a few lines, in place of the 240 KB of nmt_nfkc: ligatures, wide letters, spaces, composed letters.
_MAP = {"ﬁ": "fi", "ﬃ": "ffi", "\u00a0": " ", "\u3000": " ", "\u00ad": "", "½": "1⁄2", "…": "...", "\u0085": " ", "\t": " "}
_MAP |= {chr(0xFF01 + i): chr(0x21 + i) for i in range(94)}
_MAP |= {"e\u0301": "é", "u\u0308": "ü", "A\u030a": "Å", "か\u3099": "が", "\u1112\u1161": "하", "①": "1", "ℵ": "א"}

_WORDS = (
    "the of and in to was he is as for on with that it his by at from her she you had an were but be this are not they "
    "running unbelievable New York naïve café Müller Straße привет мир как дела שלום عربي 中国 大家好 カタカナ 한국어 1,000 3.14 "
    "don't I'll we've 12, tokenizers"
).split()
_SPECIAL = ["a <mask> b", " <mask>", "<s>x</s>", "<pad><unk>", "[MASK] [CLS]", "hello new  newer <x>y<y>", "<|endoftext|>a"]
_SPECIAL += ["a  b", "  a", "a  ", "▁a ▁ b▁", "``quoted'' \"x\"", "<sep>ab cab", "\u00a0a\u00a0 b\u2003c", "1,²,٣,", "<s>NOTUSED"]
_PAIRS = [("the cat", "is on"), ("", "x"), ("a <mask>", "naïve 中国")]


def _lines() -> list[str]:
    draw = random.Random(3)
    return [" ".join(draw.choice(_WORDS) for _ in range(draw.randrange(3, 12))) for _ in range(600)]


def _spm(folder: Path, name: str, **options: object) -> None:
    table = folder / "map.tsv"
    with open(table, "w", encoding="utf-8") as file:
        for key, value in _MAP.items():
            file.write(" ".join("%X" % ord(c) for c in key) + "\t" + " ".join("%X" % ord(c) for c in value) + "\n")
    prefix = folder / "trained"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(_lines()), model_prefix=str(prefix), num_threads=1, minloglevel=2, hard_vocab_limit=False,
        normalization_rule_tsv=str(table), **options,
    )
    (folder / "trained.model").rename(folder / name)
    (folder / "trained.vocab").unlink()
    table.unlink()


def _merges(folder: Path, first: list[str], last: list[str]) -> None:
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tok.train_from_iterator(_lines(), trainers.BpeTrainer(vocab_size=420, initial_alphabet=alphabet, show_progress=False))
    model = json.loads(tok.to_str())["model"]
    vocab = {t: i for i, t in enumerate(first + list(model["vocab"]) + last)}
    (folder / "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False), encoding="utf-8")
    merges = [m if isinstance(m, str) else " ".join(m) for m in model["merges"]]
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]), encoding="utf-8")


def _words(folder: Path, specials: list[str]) -> None:
    pieces = [*specials, *"abcdefghijklmnopqrstuvwxyz.,'-", *("##" + c for c in "abcdefgh"), "the", "The", "naive", "中", "é"]
    (folder / "vocab.txt").write_text("".join(p + "\n" for p in pieces), encoding="utf-8")


_FAIRSEQ = ["<s>", "<pad>", "</s>", "<unk>"]
_FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
_UNIGRAM = {"model_type": "unigram", "vocab_size": 300}
_ALBERT = _UNIGRAM | {
    "pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "control_symbols": ["[CLS]", "[SEP]"], "user_defined_symbols": ["[MASK]"],
}


@dataclass
class Folder:
    name: str
    cls: str
    fill: Callable[[Path], None]
    files: dict[str, object] = field(default_factory=dict)


FOLDERS = [
    Folder("folder-roberta", "RobertaTokenizerFast", lambda f: _merges(f, _FAIRSEQ, ["<mask>"])),
    Folder(
        "folder-roberta-space", "RobertaTokenizerFast", lambda f: _merges(f, _FAIRSEQ, ["<mask>"]),
        {
            "special_tokens_map.json": {
                "bos_token": "<s>", "mask_token": {"content": "<mask>", "lstrip": True, "normalized": True},
                "additional_special_tokens": ["<x>", "<y>"],
            },
            "added_tokens.json": {"hello": 900, "<y>": 901},
            "tokenizer_config.json": {"add_prefix_space": True, "tokenizer_class": "RobertaTokenizer"},
        },
    ),
    Folder(
        "folder-roberta-flagged", "RobertaTokenizerFast", lambda f: _merges(f, _FAIRSEQ, ["<mask>"]),
        {
            "tokenizer_config.json": {
                "trim_offsets": False, "mask_token": "<mask>",
                "added_tokens_decoder": {
                    "424": _FLAGS | {"content": "<mask>", "special": True},
                    "425": _FLAGS | {"content": "new", "rstrip": True, "normalized": True, "single_word": True},
                },
            },
            "special_tokens_map.json": {"mask_token": "<pad>"},
            "config.json": {"model_type": "roberta"},
        },
    ),
    Folder("folder-gpt2", "GPT2TokenizerFast", lambda f: _merges(f, [], ["<|endoftext|>"]), {"config.json": {"model_type": "gpt2"}}),
    Folder(
        "folder-gpt2-bos", "GPT2TokenizerFast", lambda f: _merges(f, [], ["<|endoftext|>"]),
        {"tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer", "add_bos_token": True}},
    ),
    Folder("folder-xlm-roberta", "XLMRobertaTokenizerFast", lambda f: _spm(f, "sentencepiece.bpe.model", **_UNIGRAM)),
    Folder(
        "folder-xlm-roberta-bpe", "XLMRobertaTokenizerFast",
        lambda f: _spm(f, "sentencepiece.bpe.model", model_type="bpe", vocab_size=400, user_defined_symbols=["<sep>", "ab c"]),
        {"special_tokens_map.json": {"additional_special_tokens": ["<x>"]}, "added_tokens.json": {"hello": 999}},
    ),
    Folder(
        "folder-camembert", "CamembertTokenizerFast", lambda f: _spm(f, "sentencepiece.bpe.model", **_UNIGRAM),
        {"config.json": {"model_type": "camembert"}},
    ),
    Folder("folder-albert", "AlbertTokenizerFast", lambda f: _spm(f, "spiece.model", **_ALBERT)),
    Folder(
        "folder-albert-cased", "AlbertTokenizerFast", lambda f: _spm(f, "spiece.model", **_ALBERT),
        {"tokenizer_config.json": {"do_lower_case": False, "keep_accents": True}},
    ),
    Folder(
        "folder-mpnet", "MPNetTokenizerFast", lambda f: _words(f, ["<s>", "<pad>", "</s>", "[UNK]", "<mask>"]),
        {"config.json": {"model_type": "mpnet"}},
    ),
    Folder(
        "folder-distilbert", "DistilBertTokenizerFast", lambda f: _words(f, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]),
        {"special_tokens_map.json": {"additional_special_tokens": ["<x>"]}, "added_tokens.json": {"new": 99}},
    ),
    Folder(
        "folder-electra", "ElectraTokenizerFast", lambda f: _words(f, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]),
        {"tokenizer_config.json": {"do_lower_case": False, "strip_accents": True, "tokenizer_class": "ElectraTokenizerFast"}},
    ),
]

# ---------------------------------------------------------------------------------------------- tokenizer.json


def _trained(model: object, trainer: type, size: int, **parts: object) -> Tokenizer:
    tok = Tokenizer(model)
    for name, part in parts.items():
        setattr(tok, name, part)
    options: dict[str, object] = {"vocab_size": size, "special_tokens": _FAIRSEQ, "show_progress": False}
    if trainer is trainers.UnigramTrainer:
        options["unk_token"] = "<unk>"
    if isinstance(tok.pre_tokenizer, pre_tokenizers.ByteLevel | pre_tokenizers.Sequence):
        options["initial_alphabet"] = pre_tokenizers.ByteLevel.alphabet()
    tok.train_from_iterator(_lines(), trainer(**options))
    return tok


def _fallback() -> Tokenizer:
    tok = _trained(models.BPE(unk_token="<unk>"), trainers.BpeTrainer, 300, pre_tokenizer=pre_tokenizers.Metaspace())
    model = json.loads(tok.to_str())["model"]
    vocab = dict(model["vocab"])
    for b in range(256):
        vocab["<0x%02X>" % b] = len(vocab)
    merges = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in model["merges"]]
    tok = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tok.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tok.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tok.add_special_tokens(_FAIRSEQ[:3])
    return tok


_GPT4 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
JSONS: dict[str, Callable[[], Tokenizer]] = {
    "model-bpe-bytes": lambda: _trained(
        models.BPE(), trainers.BpeTrainer, 400,
        pre_tokenizer=pre_tokenizers.Sequence(
            [pre_tokenizers.Split(Regex(_GPT4), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
        ),
        decoder=decoders.ByteLevel(),
    ),
    "model-bpe-fallback": _fallback,
    "model-bpe-suffix": lambda: _trained(
        models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"), trainers.BpeTrainer, 300,
        normalizer=normalizers.Lowercase(), pre_tokenizer=pre_tokenizers.Whitespace(), decoder=decoders.BPEDecoder(),
    ),
    "model-unigram": lambda: _trained(
        models.Unigram(), trainers.UnigramTrainer, 300, normalizer=normalizers.NFKC(),
        pre_tokenizer=pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]),
        decoder=decoders.Metaspace(),
    ),
    "model-wordlevel": lambda: _trained(
        models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer, 60, normalizer=normalizers.NFC(),
        pre_tokenizer=pre_tokenizers.Whitespace(),
    ),
}

# ---------------------------------------------------------------------------------------------- cases


def _decoded(tok: Tokenizer, ids: list[int]) -> dict[str, object]:
    """The text of the ids, with and without special tokens, and as they come one by one (null: nothing yet)."""
    line: dict[str, object] = {"text": "", "ids": ids}
    line["decoded"] = tok.decode(ids)
    line["decoded_special"] = tok.decode(ids, skip_special_tokens=False)
    stream = DecodeStream(skip_special_tokens=True)
    try:
        line["stream"] = [stream.step(tok, i) for i in ids]
    except Exception:  # the reference gives up where later ids change what was given out
        line["stream"] = None
    return line


def _write_cases(folder: Path, tok: Tokenizer) -> int:
    tok.no_truncation()
    tok.no_padding()
    texts = _SPECIAL + all_texts() + random_texts(60, 5, longest=40) + _lines()[:5]
    lines = [run_case(tok, text, {}) for text in texts] + [run_case(tok, pair, {}) for pair in _PAIRS]
    draw, size = random.Random(11), tok.get_vocab_size()
    with open(folder / "cases.jsonl", "w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
    decoded = [_decoded(tok, line["ids"]) for line in lines if line["ids"]]
    decoded += [_decoded(tok, [draw.randrange(size) for _ in range(draw.randrange(1, 24))]) for _ in range(60)]
    with open(folder / "decoded.jsonl", "w", encoding="utf-8") as file:
        for line in decoded:
            file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
    return len(lines)


def write_folders(root: Path, wanted: str) -> None:
    transformers.logging.set_verbosity_error()
    for case in FOLDERS:
        if wanted not in case.name:
            continue
        folder = root / case.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        case.fill(folder)
        for name, value in case.files.items():
            (folder / name).write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
        tok = getattr(transformers, case.cls).from_pretrained(str(folder)).backend_tokenizer
        print(f"tokenizer/{case.name}: {_write_cases(folder, tok)} cases, {case.cls}")
    for name, make in JSONS.items():
        if wanted not in name:
            continue
        folder = root / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        make().save(str(folder / "tokenizer.json"), pretty=False)
        tok = Tokenizer.from_file(str(folder / "tokenizer.json"))
        print(f"tokenizer/{name}: {_write_cases(folder, tok)} cases")
