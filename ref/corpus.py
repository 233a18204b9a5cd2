"""Readers of the shared data folders: tab-separated files with a header, and token-a-line files."""

import os
from pathlib import Path

DATA = Path(os.environ.get("SABOK_DATA", "/work/shared/data"))


def read_table(name: str) -> list[dict[str, str]]:
    """The rows of e.g. "sts15/test.tsv"; fields are not quoted."""
    lines = (DATA / name).read_text(encoding="utf-8").split("\n")
    header = lines[0].split("\t")
    return [dict(zip(header, line.split("\t"), strict=True)) for line in lines[1:] if line]


def read_texts(name: str) -> list[str]:
    """Every text of one data set: "sst2", "agnews", "trec" (all splits), "mrpc", "sts15" (both sentences), "wnut17"."""
    texts = []
    for path in sorted((DATA / name).iterdir()):
        if path.suffix == ".conll":
            blocks = path.read_text(encoding="utf-8").split("\n\n")
            texts += [" ".join(line.split("\t")[0] for line in block.split("\n") if line) for block in blocks]
        elif path.suffix == ".tsv":
            for row in read_table(f"{name}/{path.name}"):
                texts += [row[column] for column in ("text", "sentence1", "sentence2") if column in row]
    return [text for text in texts if text]


TEXT_SETS = ("sst2", "trec", "agnews", "mrpc", "sts15", "wnut17")
