"""Texts and vocabularies to measure tokenizers with, made by the reference library.

    python ref/tokenizer_train.py OUT [--mixed FILE...]

Writes OUT/english.txt (every text of the shared data, a line each), OUT/mixed.txt (the lines of the files given, in an
order drawn by lot) and OUT/NAME/tokenizer.json for wordpiece, bytes (byte-level BPE), unigram, fallback (BPE with byte
pieces) and words (WordLevel), trained on both; the first three as large as those of BERT (30,522), RoBERTa (50,265) and
ALBERT (30,000); and OUT/large, a unigram one of 250,000 pieces made up of letters, as many as XLM-R's.
"""

import argparse
import json
import random
from pathlib import Path

from corpus import TEXT_SETS, read_texts
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

_LARGE = 250_000


def wordpiece(lines: list[str]) -> Tokenizer:
    tok = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tok.normalizer = normalizers.BertNormalizer()
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tok.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tok.train_from_iterator(lines, trainers.WordPieceTrainer(vocab_size=30522, special_tokens=special, show_progress=False))
    return tok


def byte_level(lines: list[str]) -> Tokenizer:
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=50265, special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    tok.train_from_iterator(lines, trainer)
    return tok


def unigram(lines: list[str]) -> Tokenizer:
    tok = Tokenizer(models.Unigram())
    tok.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tok.pre_tokenizer = pre_tokenizers.Metaspace()
    tok.decoder = decoders.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.UnigramTrainer(vocab_size=30000, special_tokens=special, unk_token="<unk>", show_progress=False)
    tok.train_from_iterator(lines, trainer)
    return tok


def fallback(lines: list[str]) -> Tokenizer:
    tok = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tok.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tok.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    tok.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    special = ["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=16000, special_tokens=special, limit_alphabet=800, show_progress=False)
    tok.train_from_iterator(lines, trainer)
    return tok


def words(lines: list[str]) -> Tokenizer:
    tok = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tok.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()])
    tok.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(vocab_size=20000, special_tokens=["<unk>", "<s>", "</s>"], show_progress=False)
    tok.train_from_iterator(lines, trainer)
    return tok


def large(like: Tokenizer) -> str:
    """The unigram tokenizer with pieces drawn by lot from several scripts, and longer scores, as XLM-R's file has them."""
    draw = random.Random(1)
    alphabets = [(0x61, 26), (0x61, 26), (0x430, 32), (0x3B1, 24), (0x627, 28), (0x905, 50), (0x4E00, 6000), (0xAC00, 4000)]
    data = json.loads(like.to_str())
    pieces = dict.fromkeys(piece for piece, _ in data["model"]["vocab"])
    while len(pieces) < _LARGE:
        low, count = draw.choice(alphabets)
        size = draw.randint(1, 3) if count > 1000 else draw.randint(2, 12)
        word = "".join(chr(low + draw.randrange(count)) for _ in range(size))
        pieces[("▁" if draw.random() < 0.6 else "") + word] = None
    data["model"]["vocab"] = [[piece, -20 * draw.random() if i > 4 else 0.0] for i, piece in enumerate(pieces)]
    return json.dumps(data, ensure_ascii=True, indent=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--mixed", nargs="*", type=Path, default=[])
    args = parser.parse_args()
    english = [" ".join(text.split("\n")) for name in TEXT_SETS for text in read_texts(name)]
    mixed = [line for path in args.mixed for line in path.read_text(encoding="utf-8").split("\n") if line]
    random.Random(0).shuffle(mixed)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "english.txt").write_text("\n".join(english) + "\n", encoding="utf-8")
    if mixed:
        (args.out / "mixed.txt").write_text("\n".join(mixed) + "\n", encoding="utf-8")
    kinds = {"wordpiece": wordpiece, "bytes": byte_level, "unigram": unigram, "fallback": fallback, "words": words}
    trained = {}
    for name, train in kinds.items():
        trained[name] = train(english + mixed)
        (args.out / name).mkdir(exist_ok=True)
        trained[name].save(str(args.out / name / "tokenizer.json"))
    (args.out / "large").mkdir(exist_ok=True)
    (args.out / "large" / "tokenizer.json").write_text(large(trained["unigram"]), encoding="utf-8")


if __name__ == "__main__":
    main()
