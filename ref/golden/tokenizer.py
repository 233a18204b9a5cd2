"""Runs the tokenizers of token_kind.py and writes what they give."""

import json
import shutil
from pathlib import Path

from tokenizers import Encoding, Tokenizer

from golden.token_kind import Kind, kinds
from golden.vocab import save_tokenizer


def encoding_values(encoding: Encoding) -> dict[str, object]:
    return {
        "ids": encoding.ids,
        "type_ids": encoding.type_ids,
        "tokens": encoding.tokens,
        "offsets": encoding.offsets,
        "special_tokens_mask": encoding.special_tokens_mask,
        "words": encoding.word_ids,
    }


def run_case(tok: Tokenizer, given: str | tuple[str, str], options: dict[str, object]) -> dict[str, object]:
    """One line of cases.jsonl. "error" holds the reference's words where it refuses."""
    text, pair = (given, None) if isinstance(given, str) else given
    line: dict[str, object] = {"text": text}
    if pair is not None:
        line["pair"] = pair
    if options:
        line["options"] = options
    baked = tok.truncation
    try:
        if "truncation" in options:
            strategy, length = str(options["truncation"]), int(str(options["max_length"]))
            tok.enable_truncation(length, stride=int(str(options.get("stride", 0))), strategy=strategy)
        first = tok.encode(text, pair, add_special_tokens=not options.get("no_special", False))
    except BaseException as refused:  # a panic of the reference is no Exception
        if isinstance(refused, KeyboardInterrupt):
            raise
        line["error"] = str(refused)
        return line
    finally:
        if baked is None:
            tok.no_truncation()
    line.update(encoding_values(first))
    if options.get("overflow"):
        line["overflow"] = [encoding_values(window) for window in first.overflowing]
    return line


def write_kind(root: Path, kind: Kind) -> int:
    folder = root / kind.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tok = kind.tokenizer
    if kind.vocab_only:
        vocab = sorted(tok.get_vocab(), key=tok.token_to_id)
        save_tokenizer(folder, vocab, 512, kind.lowercase, with_json=False)
        tok = _from_vocab(folder)
    else:
        (folder / "tokenizer.json").write_text(tok.to_str(pretty=False), encoding="utf-8")
        tok = Tokenizer.from_file(str(folder / "tokenizer.json"))
    lines = [run_case(tok, text, {}) for text in kind.texts]
    lines += [run_case(tok, given, options) for options in kind.options for given in kind.option_texts]
    with open(folder / "cases.jsonl", "w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
    return len(lines)


def _from_vocab(folder: Path) -> Tokenizer:
    """As transformers reads a folder that has vocab.txt only."""
    from transformers import BertTokenizer

    tok = BertTokenizer.from_pretrained(str(folder)).backend_tokenizer
    tok.no_truncation()
    tok.no_padding()
    return tok


def write_tokenizers(root: Path, wanted: str) -> None:
    for kind in kinds():
        if wanted in kind.name:
            print(f"tokenizer/{kind.name}: {write_kind(root, kind)} cases, {kind.what}")
