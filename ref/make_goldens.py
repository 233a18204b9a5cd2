#!/usr/bin/env python3
"""Writes the golden files under test/golden/ with the pinned reference libraries (requirements.txt).

    python ref/make_goldens.py              all of them
    python ref/make_goldens.py model        the tiny models only
    python ref/make_goldens.py model odd    those whose name contains "odd"
    python ref/make_goldens.py folder       tokenizers of vocabularies alone, with the versions of requirements-4.txt
    python ref/make_goldens.py answer       answers to questions, with the same versions
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("RUST_BACKTRACE", "0")  # the reference panics on some truncations, which the goldens record

ROOT = Path(__file__).resolve().parent.parent / "test" / "golden"


def make_torch(_wanted: str) -> None:
    from golden.torch_bin import write_torch

    write_torch(ROOT / "torch", ROOT)
    print("torch: files of torch.save, and the same tensors as safetensors")


def make_models(wanted: str) -> None:
    import torch

    from golden.model import CASES, write_case

    torch.set_num_threads(1)
    for case in CASES:
        if wanted in case.name:
            write_case(ROOT, case)
            print(f"{case.name}: {case.what}")


def make_families(wanted: str) -> None:
    import torch

    from golden.family import FAMILIES, write_family

    torch.set_num_threads(1)
    for case in FAMILIES:
        if wanted in case.name:
            write_family(ROOT, case)
            print(f"{case.name}: {case.what}")


def make_class_metrics(_wanted: str) -> None:
    from golden.class_metric import write_class_metrics

    write_class_metrics(ROOT / "metric-class.jsonl")
    print("metric-class.jsonl: scores of classes")


def make_entity_metrics(_wanted: str) -> None:
    from golden.entity_metric import write_entity_metrics

    write_entity_metrics(ROOT / "metric-entity.jsonl")
    print("metric-entity.jsonl: scores of entities")


def make_ranking_metrics(_wanted: str) -> None:
    from golden.ranking_metric import write_ranking_metrics

    write_ranking_metrics(ROOT / "metric-ranking.jsonl")
    print("metric-ranking.jsonl: scores of rankings")


def make_answer_metrics(_wanted: str) -> None:
    from golden.answer_metric import write_answer_metrics

    write_answer_metrics(ROOT / "metric-answer.jsonl")
    print("metric-answer.jsonl: answers compared")


def make_evaluations(_wanted: str) -> None:
    from golden.evaluate import write_evaluations

    write_evaluations(ROOT)
    print("eval: labelled files and the metrics of models over them")


def make_unicode(_wanted: str) -> None:
    from golden.unicode import write_unicode

    path = ROOT / "tokenizer" / "unicode.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_unicode(path)
    print("tokenizer/unicode.jsonl: the normaliser, code point by code point")


def make_tokenizers(wanted: str) -> None:
    from golden.tokenizer import write_tokenizers

    write_tokenizers(ROOT / "tokenizer", wanted)


def make_folders(wanted: str) -> None:
    from golden.vocab_folder import write_folders

    write_folders(ROOT / "tokenizer", wanted)


def make_answers() -> None:
    import torch

    from golden.answer import write_answers

    torch.set_num_threads(1)
    write_answers(ROOT)
    print("answer.jsonl: answers to questions")


def make_metrics(_wanted: str) -> None:
    from golden.metric import write_metrics

    write_metrics(ROOT / "metric.jsonl")
    print("metric.jsonl: correlations")


def make_zero(_wanted: str) -> None:
    from golden.zero import write_zero

    write_zero(ROOT)
    print("zero_shot.jsonl: labels chosen by the caller")


def make_search(_wanted: str) -> None:
    from golden.search import write_search

    write_search(ROOT)
    print("search.jsonl: the texts nearest to queries")


def make_tag(wanted: str) -> None:
    import torch

    from golden.tag import KINDS, write_tag

    torch.set_num_threads(1)
    for kind in KINDS:
        if wanted in kind.name:
            write_tag(ROOT, kind)
            print(f"tag/{kind.name}: {kind.what}")


def make_ranks(_wanted: str) -> None:
    from golden.rank import write_ranks

    write_ranks(ROOT)
    print("rerank.jsonl: documents in the order of a cross-encoder")


def make_pairs(_wanted: str) -> None:
    from golden.pair import write_pairs

    write_pairs(ROOT)
    print("pair.jsonl: labels of pairs, with and without segments")


def make_fills(_wanted: str) -> None:
    import torch

    from golden.fill_mask import write_fills

    torch.set_num_threads(1)
    write_fills(ROOT)
    print("fill-mask.jsonl: tokens for masks")


PARTS = {
    "model": make_models,
    "family": make_families,
    "unicode": make_unicode,
    "tokenizer": make_tokenizers,
    "metric": make_metrics,
    "zero": make_zero,
    "search": make_search,
    "tag": make_tag,
    "rank": make_ranks,
    "fill_mask": make_fills,
    "pair": make_pairs,
}


def main() -> int:
    part = sys.argv[1] if len(sys.argv) > 1 else None
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    if part == "answer":
        make_answers()
        return 0
    if part not in (None, "folder", "answer_metric", *PARTS):
        print(f"make_goldens.py: no part {part!r}; parts: {', '.join(PARTS)}, folder, answer", file=sys.stderr)
        return 2
    for name, make in PARTS.items():
        if part in (None, name):
            make(wanted)
    if part == "folder":
        make_folders(wanted)
    if part == "answer_metric":
        make_answer_metrics(wanted)
    return 0


PARTS["torch"] = make_torch

# Metrics and evaluations.
PARTS |= {"class_metric": make_class_metrics, "entity_metric": make_entity_metrics, "ranking_metric": make_ranking_metrics, "eval": make_evaluations}

if __name__ == "__main__":
    sys.exit(main())
