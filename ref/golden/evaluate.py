"""Files of labelled texts and what transformers' models and scikit-learn make of them: test/golden/eval/."""

import csv
import json
import random
from pathlib import Path

import numpy as np
import torch
from scipy import stats
from sklearn import metrics
from seqeval.metrics import accuracy_score, f1_score, precision_score, recall_score
from seqeval.scheme import IOB2
from transformers import AutoModelForSequenceClassification, AutoModelForTokenClassification, AutoTokenizer

WORDS = "the cat dog man woman was they said she could not have been music new guitar running with him a".split()


def _texts(seed: int, n: int) -> list[str]:
    draw = random.Random(seed)
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(1, 10))) for _ in range(n)]
    texts[1] = 'she said, "the cat"'  # quotes, commas and line ends of CSV
    texts[2] = "the man\nwas new, they said"
    return texts


def _logits(folder: Path, texts: list[str], pairs: list[str] | None) -> np.ndarray:
    model = AutoModelForSequenceClassification.from_pretrained(folder).double().eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = []
    with torch.no_grad():
        for i, text in enumerate(texts):
            ids = tokenizer(text, pairs[i] if pairs else None, return_tensors="pt")
            rows.append(model(**ids).logits[0].numpy())
    return np.array(rows)


def _scores(expected, found, zero_division: float) -> dict:
    out = {}
    for average in ("micro", "macro", "weighted"):
        values = metrics.precision_recall_fscore_support(expected, found, average=average, zero_division=zero_division)
        for name, value in zip(("precision", "recall", "f1"), values):
            out[f"eval_{name}_{average}"] = float(value)
    out["eval_accuracy"] = float(metrics.accuracy_score(expected, found))
    return out


def _single(root: Path, folder: str, name: str, pairs: bool) -> None:
    texts, seconds = _texts(1, 60), _texts(2, 60) if pairs else None
    logits = _logits(root / folder, texts, seconds)
    found = logits.argmax(axis=1)
    draw = np.random.default_rng(3)
    expected = np.where(draw.uniform(size=60) < 0.5, found, draw.integers(logits.shape[1], size=60))
    labels = json.loads((root / folder / "config.json").read_text())["id2label"]
    with open(root / "eval" / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["label", "sentence1", "sentence2"] if pairs else ["label", "text"])
        for i, text in enumerate(texts):
            out.writerow([labels[str(expected[i])], text, *([seconds[i]] if pairs else [])])
    want = _scores(expected, found, 0.0)
    want["eval_matthews_correlation"] = float(metrics.matthews_corrcoef(expected, found))
    want["confusion_matrix"] = metrics.confusion_matrix(expected, found, labels=range(logits.shape[1])).tolist()
    binary = metrics.precision_recall_fscore_support(expected == 2, found == 2, average="binary", zero_division=0.0)
    want["positive_2"] = [float(x) for x in binary[:3]]
    (root / "eval" / f"{name}.json").write_text(json.dumps(want) + "\n")


def _multi(root: Path) -> None:
    texts = _texts(4, 40)
    logits = _logits(root / "bert-head-multi", texts, None)
    found = (logits > 0).astype(int)
    expected = np.where(np.random.default_rng(5).uniform(size=found.shape) < 0.7, found, 1 - found)
    labels = json.loads((root / "bert-head-multi" / "config.json").read_text())["id2label"]
    with open(root / "eval" / "multi.jsonl", "w", encoding="utf-8") as file:
        for text, row in zip(texts, expected):
            file.write(json.dumps({"text": text, "labels": [labels[str(i)] for i in np.flatnonzero(row)]}) + "\n")
    want = _scores(expected, found, 1.0)
    (root / "eval" / "multi.json").write_text(json.dumps(want) + "\n")


def _regression(root: Path) -> None:
    texts = _texts(6, 40)
    found = _logits(root / "bert-head-regression", texts, None)[:, 0]
    expected = np.round(found + np.random.default_rng(7).normal(size=40) * found.std(), 2)
    with open(root / "eval" / "regression.tsv", "w", encoding="utf-8") as file:
        file.write("text\tlabel\n")
        for text, grade in zip(texts, expected):
            file.write(f"{' '.join(text.split())}\t{grade}\n")
    found = _logits(root / "bert-head-regression", [" ".join(t.split()) for t in texts], None)[:, 0]
    want = {
        "eval_pearson": float(stats.pearsonr(found, expected).statistic),
        "eval_spearmanr": float(stats.spearmanr(found, expected).statistic),
        "eval_mse": float(metrics.mean_squared_error(expected, found)),
    }
    (root / "eval" / "regression.json").write_text(json.dumps(want) + "\n")


def _tag(root: Path) -> None:
    folder = root / "bert-head-tag"
    model = AutoModelForTokenClassification.from_pretrained(folder).double().eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    names = [model.config.id2label[i] for i in range(model.config.num_labels)]
    draw = random.Random(8)
    # Words of several tokens, of unknown letters, and one that is no token at all.
    words = [[draw.choice([*WORDS, "zzzz", "running,", "café", "guitars", "​"]) for _ in range(draw.randint(1, 8))] for _ in range(60)]
    kept, found, expected = [], [], []
    for sentence in words:
        ids = tokenizer(sentence, is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            best = model(**ids).logits[0].argmax(dim=-1).tolist()
        of = ids.word_ids(0)
        first = {word: best[of.index(word)] for word in of if word is not None}
        tags = {i: names[tag] for i, tag in first.items()}
        right = [tags.get(i, "O") if draw.random() < 0.6 else draw.choice(names) for i in range(len(sentence))]
        kept.append(right)
        found.append([tags[i] for i in sorted(tags)])
        expected.append([right[i] for i in sorted(tags)])
    with open(root / "eval" / "tag.conll", "w", encoding="utf-8") as file:
        file.write("-DOCSTART- -X- O\n\n")
        for sentence, tags in zip(words, kept):
            file.writelines(f"{word} X {tag}\n" for word, tag in zip(sentence, tags))
            file.write("\n")
    with open(root / "eval" / "tag.jsonl", "w", encoding="utf-8") as file:
        for sentence, tags in zip(words, kept):
            file.write(json.dumps({"tokens": sentence, "ner_tags": [names.index(tag) for tag in tags]}) + "\n")
    for name, strict in (("tag", {}), ("tag-iob2", {"mode": "strict", "scheme": IOB2})):
        want = {"eval_accuracy": float(accuracy_score(expected, found))}
        for score, function in (("precision", precision_score), ("recall", recall_score), ("f1", f1_score)):
            for average in ("micro", "macro", "weighted"):
                value = float(function(expected, found, average=average, zero_division=0, **strict))
                want[f"eval_{score}_{average}"] = value
                if average == "micro":
                    want[f"eval_{score}"] = value
        (root / "eval" / f"{name}.json").write_text(json.dumps(want) + "\n")


def _rank(root: Path) -> None:
    from sentence_transformers import CrossEncoder

    from golden.ranking_metric import reciprocal_rank

    model = CrossEncoder(str(root / "bert-head-one"), device="cpu")
    draw = random.Random(9)
    reciprocal, gains = [], []
    with open(root / "eval" / "rank.tsv", "w", encoding="utf-8") as file:
        file.write("query\ttext\tlabel\n")
        for query in range(12):
            question = f"{' '.join(draw.choices(WORDS, k=4))} {query}"
            texts = [" ".join(draw.choices(WORDS, k=draw.randint(1, 8))) for _ in range(draw.randint(2, 14))]
            relevance = [0 if query == 5 else draw.choice([0, 0, 0, 1, 2]) for _ in texts]
            file.writelines(f"{question}\t{text}\t{label}\n" for text, label in zip(texts, relevance))
            scores = model.predict([(question, text) for text in texts], show_progress_bar=False).astype(float).tolist()
            reciprocal.append(reciprocal_rank(relevance, scores, 3))
            gains.append(metrics.ndcg_score([relevance], [scores], k=3))
    want = {"eval_mrr@3": float(np.mean(reciprocal)), "eval_ndcg@3": float(np.mean(gains))}
    (root / "eval" / "rank.json").write_text(json.dumps(want) + "\n")


def write_evaluations(root: Path) -> None:
    """FILE of texts beside NAME.json: the values that `sabok eval text-classification --json` must print."""
    (root / "eval").mkdir(exist_ok=True)
    _single(root, "bert-head-classify", "single", False)
    _single(root, "roberta-tiny-classify", "pair", True)
    _multi(root)
    _regression(root)
    _tag(root)
    _rank(root)
