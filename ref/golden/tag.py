"""Token classification: tiny models with a tokenizer of each kind, and what the reference's pipeline finds in fifty texts."""

import json
import math
import random
import shutil
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, processors

from golden import weight
from golden.folder import write_json
from golden.vocab import bert_tokenizer, bert_vocab

LENGTH = 24
STRATEGIES = ["none", "simple", "first", "average", "max"]


@dataclass
class Kind:
    """One folder under test/golden/tag/."""

    name: str
    what: str
    model: str  # of transformers' classes
    labels: list[str]
    specials: dict[str, str]
    seed: int
    config: dict[str, object] = field(default_factory=dict)
    tokenizer: str = ""  # a folder of test/golden/tokenizer/; "": the WordPiece one
    overflow: bool = False  # some logits are infinite


_BERT = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}
_ROBERTA = {"cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
_SHIFTED = {"type_vocab_size": 1, "layer_norm_eps": 1e-5}
KINDS = [
    Kind("words", "WordPiece: pieces inside a word have a prefix", "Bert", ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"], _BERT, 380),
    Kind("bytes", "byte-level BPE, labels without prefix", "Roberta", ["O", "PER", "LOC"], _ROBERTA, 364, _SHIFTED,
         "model-bpe-bytes"),
    Kind("pieces", "Unigram, labels with dashes", "XLMRoberta", ["O", "B-X-Y", "I-X-Y", "X-Y"], _ROBERTA, 352, _SHIFTED,
         "model-unigram"),
    Kind("odd", "scores that are no numbers; no unk_token in tokenizer_config.json", "Bert", ["O", "B-PER", "I-PER"],
         {name: token for name, token in _BERT.items() if name != "unk_token"}, 318, overflow=True),
]

_FIXED = [
    "",
    " ",
    "a",
    "The cat plays with him.",
    "  two blanks lead",
    "zzqqx ЖЖ unknown",
    "a\u00a0b\tc\nd",
    "don't (she said), hello-world 3.14!",
    "5.975,74",
    "Ünïted naïve cafe\u0301 Paris",
    "東京 は 中国 мир 😀 x😀y",
    "[UNK] and <unk> are words, x[UNK]y x<unk>y",
    "unwanted runnings newly played",
    "the cat and the dog were there before it was new again, and then the man and the woman said that they could play",
]
_WORDS = (
    "the cat plays a dog London Paris naïve 東京 мир don't U.S. (running), hello-world 3.14 😀 e\u0301a unwanted music "
    "guitars [MASK] she's newest catdog #1 x@y.z ½ ﬁne"
).split()


def texts() -> list[str]:
    rng = random.Random(4)
    return _FIXED + [" ".join(rng.choice(_WORDS) for _ in range(rng.randint(1, 9))) for _ in range(50 - len(_FIXED))]


def long_texts() -> list[str]:
    """Some begin with blanks, whose tokens have no characters where offsets are trimmed."""
    rng = random.Random(5)
    return ["", *(["", "   ", " 東 ½ "][n % 3] + " ".join(rng.choice(_WORDS) for _ in range(n)) for n in range(3, 61, 2))]


def _tokenizer(root: Path, kind: Kind) -> Tokenizer:
    if not kind.tokenizer:
        return bert_tokenizer(bert_vocab())
    tok = Tokenizer.from_file(str(root / "tokenizer" / kind.tokenizer / "tokenizer.json"))
    if kind.model == "Roberta":
        tok.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    else:
        tok.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return tok


def write_model(root: Path, kind: Kind) -> Path:
    folder = root / "tag" / kind.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tok = _tokenizer(root, kind)
    config = getattr(transformers, kind.model + "Config")(
        vocab_size=max(tok.get_vocab().values()) + 1, hidden_size=12, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=20, max_position_embeddings=LENGTH + 6, pad_token_id=tok.token_to_id(kind.specials["pad_token"]),
        id2label=dict(enumerate(kind.labels)), label2id={label: i for i, label in enumerate(kind.labels)}, **kind.config)
    model = getattr(transformers, kind.model + "ForTokenClassification")(config)
    weight.random_state(model, kind.seed)
    if kind.overflow:
        with torch.no_grad():  # one product alone, so that no order of adding matters
            model.classifier.weight[1] = 0
            model.classifier.weight[1, 8] = 3e38
    model.save_pretrained(folder)
    (folder / "tokenizer.json").write_text(tok.to_str(pretty=False), encoding="utf-8")
    write_json(folder / "tokenizer_config.json", {
        **kind.specials, "model_max_length": LENGTH, "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False})
    return folder


def _case(pipe, text: str, **options: object) -> dict[str, object]:
    """The pipeline's list, or the words with which it refuses."""
    line: dict[str, object] = {"text": text, **options}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of "words" that a vocabulary without prefixes does not know
            found = pipe(text, **options)
    except BaseException as error:  # the tokenizer's own is no Exception
        return {**line, "error": str(error)}
    return {**line, "entities": [{**entity, "score": _score(float(entity["score"]))} for entity in found]}


def _score(score: float) -> float | None:
    return None if math.isnan(score) else round(score, 9)


def _windows(pipe, kind: Kind) -> list[dict[str, object]]:
    """Long texts, each with a stride; and what the reference refuses."""
    lines = []
    long = long_texts()
    for i, text in enumerate(long):
        ignored = {"ignore_labels": []} if i % 5 == 0 else {}
        lines.append(_case(pipe, text, aggregation_strategy=STRATEGIES[1 + i % 4], stride=(0, 1, 3, 8, 15)[i // 4 % 5], **ignored))
    for text in ("a cat", long[-1]):
        for stride in (LENGTH - 3, LENGTH - 2, LENGTH - 1, LENGTH):
            lines.append(_case(pipe, text, aggregation_strategy="first", stride=stride))
        lines.append(_case(pipe, text, aggregation_strategy="none", stride=2))
    return lines


def write_tag(root: Path, kind: Kind) -> None:
    folder = write_model(root, kind)
    pipe = transformers.pipeline("token-classification", model=str(folder), device=-1)
    lines = []
    for i, text in enumerate(texts()):
        for strategy in STRATEGIES:
            ignored = {} if i % 3 else {"ignore_labels": [[], ["O", kind.labels[1]]][i % 2]}
            lines.append(_case(pipe, text, aggregation_strategy=strategy, **ignored))
    lines += _windows(pipe, kind)
    with open(folder / "cases.jsonl", "w", encoding="utf-8") as out:
        out.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    for path in folder.iterdir():
        path.chmod(0o644)
