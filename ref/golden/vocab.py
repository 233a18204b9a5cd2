"""Small WordPiece vocabularies that look like real ones, and the tokenizers built on them."""

import json
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

SPECIALS = ["[PAD]", "[unused0]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

_PUNCTUATION = list("!\"#$%&'()*+,-./:;<=>?@")
_WORDS = (
    "the of and in to was he is as for on with that it his by at from her she you had an were but be this are not "
    "they one which or have him me first all also their has up who out been when after there into new two its time "
    "would no what about said we over then other so more can if like back them only some could where just during "
    "before man woman play music guitar dog cat running"
).split()
_SUFFIXES = ["##s", "##ing", "##ed", "##er", "##ly", "##ion", "##al", "##est", "##ness", "##un"]


def bert_vocab(cased: bool = False, specials: list[str] = SPECIALS) -> list[str]:
    """Tokens in id order. Every lower-case ASCII letter and digit can be spelt, so only other characters are unknown."""
    letters = list("abcdefghijklmnopqrstuvwxyz0123456789")
    capitals = list("ABCDEFGHIJKLMNOPQRSTUVWXYZ") if cased else []
    singles = letters + capitals
    extra = ["中", "国", "é", "ü"] if cased else ["中", "国"]
    names = ["The", "New", "Dog"] if cased else []
    return specials + _PUNCTUATION + singles + ["##" + c for c in singles] + extra + _WORDS + names + _SUFFIXES


def bert_tokenizer(vocab: list[str], lowercase: bool = True, **normalizer) -> Tokenizer:
    """A tokenizer as BERT's checkpoints carry it, on this vocabulary."""
    ids = {token: i for i, token in enumerate(vocab)}
    tok = Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    tok.add_special_tokens([t for t in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]") if t in ids])
    tok.normalizer = normalizers.BertNormalizer(lowercase=lowercase, **normalizer)
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tok.decoder = decoders.WordPiece(prefix="##")
    tok.post_processor = bert_template(ids)
    return tok


def bert_template(ids: dict[str, int]) -> processors.TemplateProcessing:
    return processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )


def save_tokenizer(folder: Path, vocab: list[str], max_length: int, lowercase: bool = True, with_json: bool = True) -> None:
    """Writes vocab.txt and tokenizer_config.json, and tokenizer.json unless told not to."""
    (folder / "vocab.txt").write_text("".join(token + "\n" for token in vocab), encoding="utf-8")
    config = {
        "cls_token": "[CLS]",
        "do_lower_case": lowercase,
        "mask_token": "[MASK]",
        "model_max_length": max_length,
        "pad_token": "[PAD]",
        "sep_token": "[SEP]",
        "strip_accents": None,
        "tokenize_chinese_chars": True,
        "tokenizer_class": "BertTokenizer",
        "unk_token": "[UNK]",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    if with_json:
        text = bert_tokenizer(vocab, lowercase).to_str(pretty=False)
        (folder / "tokenizer.json").write_text(text, encoding="utf-8")
