# run fill-mask.

case_fill_mask() {
    model=$golden/bert-head-mask
    expect 0 "$sabok" run fill-mask "$model" --text "the [MASK] cat" --text "[MASK] a [MASK]" --top_k 2
    lines out 2
    one='{"score": [0-9.e-]*, "token": [0-9]*, "token_str": "[^"]*", "sequence": "[^"]*"}'
    head -n 1 out | grep -q "^\[$one, $one\]$"
    tail -n 1 out | grep -q "^\[\[$one, $one\], \[$one, $one\]\]$"
    contains out '[CLS] [MASK] a '
    printf '{"text": "the [MASK] cat"}\n{"text": "[MASK] a [MASK]"}\n' >t.jsonl
    "$sabok" run fill_mask "$model" t.jsonl --top_k 2 --batch_tokens 1 --threads 2 | cmp - out
    expect 0 "$sabok" run fill-mask "$model" --text "the [MASK] cat"
    [ "$(grep -o token_str out | wc -l)" -eq 5 ]
}

case_fill_mask_targets() {
    model=$golden/bert-head-mask
    expect 0 "$sabok" run fill-mask "$model" --text "the [MASK] cat" --targets dog,catdog
    [ "$(grep -o token_str out | wc -l)" -eq 2 ]
    contains err 'target "catdog" is not in the vocabulary; "cat" is used'
    expect 0 "$sabok" run fill-mask "$model" --text "the [MASK] cat" --targets dog --top_k 9
    [ "$(grep -o token_str out | wc -l)" -eq 1 ]
}

case_fill_mask_errors() {
    model=$golden/bert-head-mask
    fails 1 "fill-mask: the model's head is sequence classification" \
        "$sabok" run fill-mask "$golden/bert-head-nli" --text "[MASK]"
    printf 'a [MASK]\nthe cat\n' >t.txt
    expect 1 "$sabok" run fill-mask "$model" t.txt --output o.jsonl
    contains err "t.txt: line 2: bert-head-mask: no mask_token ([MASK]) found"
    only t.txt
}
