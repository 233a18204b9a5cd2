"""What the question-answering pipeline of transformers 4 answers (requirements-4.txt): fifty pairs for models of every family."""

import json
import random
import shutil
import warnings
from pathlib import Path

import transformers
from tokenizers import Tokenizer, processors

from golden import weight
from golden.folder import write_json

MODELS = [
    "bert-head-answer", "roberta-tiny-answer", "xlm-roberta-tiny-answer", "distilbert-tiny-answer", "albert-tiny-answer",
    "mpnet-tiny-answer", "electra-tiny-answer", "answer-bytes", "answer-pieces",
]
# Made here, of vocabularies of other kinds, whose words are not those between blanks.
_KINDS = {"answer-bytes": ("Roberta", "model-bpe-bytes", 392), "answer-pieces": ("XLMRoberta", "model-unigram", 393)}
_POSITIONS = 40
_FIXED: list[tuple[str, str, dict[str, object]]] = [
    ("who?", "The cat", {}),
    ("a", "a", {}),
    ("who?", " ", {}),
    ("who?", " ", {"handle_impossible_answer": True}),
    (" ", "the cat and the dog were there", {}),
    ("", "the cat", {}),
    ("who?", "", {}),
    ("the cat and the dog and the cat and the dog and the cat", "the cat", {}),
    ("[CLS] the", "the cat [CLS] was new [SEP] and old", {"top_k": 3}),
    ("[CLS] he", "naïve cat was new, and the dog", {"top_k": 3, "align_to_words": False}),
    ("the?", "The cat, the CAT, tHe cat; the dog THE cat", {"top_k": 4}),
    ("the?", "The cat, the CAT, tHe cat; the dog THE cat", {"top_k": 4, "align_to_words": False}),
    ("when", "İstanbul istanbul ÜNÏTED ünïted 中国 😀 x😀y", {"top_k": 2}),
]
_WORDS = (
    "the cat plays a dog London Paris naïve 中国 don't U.S. (running), hello-world 3.14 😀 e\u0301a unwanted music guitars "
    "she's newest catdog #1 Cat THE ½ ﬁne"
).split()


def _pairs() -> list[tuple[str, str, dict[str, object]]]:
    rng = random.Random(9)
    pairs = list(_FIXED)
    while len(pairs) < 50:
        question = " ".join(rng.choice(["who", "the", "cat", "what", "?"]) for _ in range(rng.randint(1, 4)))
        context = rng.choice([" ", "  "]).join(rng.choice(_WORDS) for _ in range(rng.randint(8, 30)))
        options: dict[str, object] = {}
        for name, values in (("top_k", [2, 3, 5]), ("max_answer_len", [1, 2, 4, 30]), ("doc_stride", [1, 3, 7]),
                             ("max_seq_len", [20, 24]), ("handle_impossible_answer", [True]), ("align_to_words", [False])):
            if rng.random() < 0.3:
                options[name] = rng.choice(values)
        pairs.append((question, context, options))
    return pairs


def _write_model(root: Path, name: str) -> None:
    kind, vocabulary, seed = _KINDS[name]
    folder = root / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tok = Tokenizer.from_file(str(root / "tokenizer" / vocabulary / "tokenizer.json"))
    if kind == "Roberta":
        tok.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    else:
        tok.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    config = getattr(transformers, kind + "Config")(
        vocab_size=max(tok.get_vocab().values()) + 1, hidden_size=12, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=20, max_position_embeddings=_POSITIONS, type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=1)
    model = getattr(transformers, kind + "ForQuestionAnswering")(config)
    weight.random_state(model, seed)
    model.save_pretrained(folder)
    (folder / "tokenizer.json").write_text(tok.to_str(pretty=False), encoding="utf-8")
    write_json(folder / "tokenizer_config.json", {
        "cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>", "model_max_length": _POSITIONS - 2,
        "tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False})
    for path in folder.iterdir():
        path.chmod(0o644)


def write_answers(root: Path) -> None:
    """answer.jsonl, {"model", "question", "context", options of the pipeline, "result"}; "error" in the place of a result."""
    assert transformers.__version__.startswith("4."), transformers.__version__
    for name in _KINDS:
        _write_model(root, name)
    warnings.simplefilter("ignore")
    lines = []
    for name in MODELS:
        pipe = transformers.pipeline("question-answering", model=str(root / name), device=-1)
        if not name.startswith(("bert", "albert", "electra")):  # as their own classes of tokenizers say
            pipe.tokenizer.model_input_names = ["input_ids", "attention_mask"]
        for question, context, options in _pairs():
            line: dict[str, object] = {"model": name, "question": question, "context": context, **options}
            try:
                line["result"] = pipe(question=question, context=context, **options)
            except BaseException as error:  # the tokenizer panics on some strides
                line["error"] = str(error)
            lines.append(line)
    with open(root / "answer.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
