"""What the reference's fill-mask pipeline puts in the place of masks: fifty texts for models of every family."""

import json
import random
import shutil
from pathlib import Path

import transformers
from tokenizers import AddedToken, Tokenizer, processors

from golden import weight
from golden.folder import write_json
from golden.vocab import bert_tokenizer, bert_vocab

MODELS = [
    "bert-head-mask", "bert-head-untied", "roberta-tiny-mask", "xlm-roberta-tiny-mask", "distilbert-tiny-mask", "albert-tiny-groups",
    "mpnet-tiny-mask", "electra-tiny-narrow", "fill-mask-bytes",
]
_BYTES = "fill-mask-bytes"  # a byte-level vocabulary, whose mask takes the space before it
_LENGTH = 24
_FIXED = [
    "[MASK]",
    "[MASK] plays with him.",
    "The [MASK] plays with him , don't [MASK] .",
    "the[MASK]cat",
    "[MASK][MASK] [MASK]",
    "a [PAD] cat [PAD] and [MASK] [PAD]",
    "[PAD] [MASK] and [MASK] [SEP] [CLS]",
    "naïve [MASK] 中国 Ünïted 😀",
    "[CLS] is [MASK] [UNK] here ?",
    "they'll say [MASK] 's !",
]
_WORDS = "the cat plays a dog London naïve 中国 don't (running), hello-world 3.14 unwanted music guitars she's , . zzqqx 😀".split()
_TARGETS = [
    ["cat"], ["cat", "dog", "the"], ["the", "the", "cat"], ["catdog", "man"], ["[UNK]", "##s", "<unk>"], ["Cat", "", "new"],
    [" cat", "guitar", "running", "what", "time", "no", "two"], ["Ünïted", "dog"],
]


def _texts() -> list[str]:
    rng = random.Random(7)
    tok = bert_tokenizer(bert_vocab())
    texts = list(_FIXED)
    while len(texts) < 50:
        words = [rng.choice(_WORDS) for _ in range(rng.randint(2, 7))]
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            words[rng.randrange(len(words))] = "[MASK]"
        if len(tok.encode(" ".join(words))) <= _LENGTH:
            texts.append(" ".join(words))
    assert all(len(tok.encode(text)) <= _LENGTH + 4 for text in texts)
    return texts


def _write_bytes(root: Path) -> None:
    folder = root / _BYTES
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tok = Tokenizer.from_file(str(root / "tokenizer" / "model-bpe-bytes" / "tokenizer.json"))
    tok.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    tok.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    config = transformers.RobertaConfig(
        vocab_size=tok.get_vocab_size(), hidden_size=12, num_hidden_layers=2, num_attention_heads=2, intermediate_size=20,
        max_position_embeddings=_LENGTH + 40, type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=1)
    model = transformers.RobertaForMaskedLM(config)
    weight.random_state(model, 391)
    model.tie_weights()
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    (folder / "tokenizer.json").write_text(tok.to_str(pretty=False), encoding="utf-8")
    write_json(folder / "tokenizer_config.json", {
        "cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": {
            "__type": "AddedToken", "content": "<mask>", "lstrip": True, "normalized": False, "rstrip": False, "single_word": False},
        "model_max_length": _LENGTH + 38, "tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": True})
    for path in folder.iterdir():
        path.chmod(0o644)


def write_fills(root: Path) -> None:
    """fill-mask.jsonl, {"model", "text", options of the pipeline, "result"}; "error" in the place of a result."""
    _write_bytes(root)
    lines = []
    for m, name in enumerate(MODELS):
        pipe = transformers.pipeline("fill-mask", model=str(root / name), device=-1)
        for i, text in enumerate(_texts()):
            options: dict[str, object] = {} if m == 0 and i < 10 else {"top_k": 1 + (i + m) % 3}
            if (i + m) % 4 == 3:
                options["targets"] = _TARGETS[(i + m) // 4 % len(_TARGETS)]
            text = text.replace("[MASK]", pipe.tokenizer.mask_token)
            line: dict[str, object] = {"model": name, "text": text, **options}
            line["result"] = pipe(text, **options)
            lines.append(line)
        for text, options in (("no mask here", {}), (pipe.tokenizer.mask_token, {"targets": [""]})):
            try:
                pipe(text, **options)
            except Exception as error:  # the two refusals
                lines.append({"model": name, "text": text, **options, "error": str(error)})
    with open(root / "fill-mask.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
