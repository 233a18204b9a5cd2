# tokenize: an Encoding as the tokenizers library prints it.

case_tokenize_encoding() {
    expect 0 "$sabok" tokenize "$tiny" --text "Thé cat"
    contains out '"tokens": ["[CLS]", "the", "cat", "[SEP]"]'
    contains out '"type_ids": [0, 0, 0, 0]'
    contains out '"offsets": [[0, 0], [0, 3], [4, 7], [0, 0]]'
    contains out '"special_tokens_mask": [1, 0, 0, 1]'
    contains out '"attention_mask": [1, 1, 1, 1]'
    expect 0 "$sabok" tokenize "$tiny/tokenizer.json" --text "Thé cat" --no-special
    contains out '"tokens": ["the", "cat"]'
    expect 0 "$sabok" tokenize "$golden/bert-tiny-vocab" --text "the cat" --plain
    contains out "[CLS] the cat [SEP]"
}

# The ids of the goldens, which are cut at the model's length.
case_tokenize_golden_ids() {
    expect 0 "$sabok" tokenize "$tiny" "$tiny/texts.jsonl" --max_length 24
    for i in 0 2 6 11; do
        header=$(od -An -t u8 -N 8 "$tiny/expected.safetensors" | tr -d ' ')
        range=$(tail -c +9 "$tiny/expected.safetensors" | head -c "$header" | grep -a -o "\"ids.$i\":{[^}]*}" |
            sed 's/.*"data_offsets":\[\([0-9]*\),\([0-9]*\)\].*/\1 \2/')
        od -An -v -w4 -t d4 -j $((8 + header + ${range% *})) -N $((${range#* } - ${range% *})) \
            "$tiny/expected.safetensors" | tr -d ' ' >expected
        sed -n "$((i + 1))p" out | sed 's/^{"ids": \[\([^]]*\)\].*/\1/' | tr -d ' ' | tr ',' '\n' >found
        cmp found expected
    done
}

case_tokenize_truncation() {
    text="the cat and the dog and the man"
    expect 0 "$sabok" tokenize "$tiny" --text "$text" --max_length 5 --plain
    contains out "[CLS] the cat and [SEP]"
    expect 0 "$sabok" tokenize "$tiny" --text "$text" --max_length 5 --stride 1 --overflow --plain
    sed -n 2p out | grep -q -F "[CLS] and the dog [SEP]"
    expect 0 "$sabok" tokenize "$tiny" --text "$text" --max_length 5 --return_overflowing_tokens
    contains out '"overflowing": [{"ids"'
    lines out 1
    expect 0 "$sabok" tokenize "$tiny" --text "$text" --no_truncation --plain
    contains out "dog and the man [SEP]"
    fails 1 "stride" "$sabok" tokenize "$tiny" --text "$text" --max_length 5 --stride 9 --overflow
}

case_tokenize_pairs() {
    expect 0 "$sabok" tokenize "$tiny" --text "the cat" --text_pair "the dog" --plain
    contains out "[CLS] the cat [SEP] the dog [SEP]"
    mv out first
    printf 'a,b\nthe cat,the dog\n' >t.csv
    expect 0 "$sabok" tokenize "$tiny" t.csv --column a --pair b --plain
    cmp out first
    expect 0 "$sabok" tokenize "$tiny" t.csv --column a --pair b
    contains out '"type_ids": [0, 0, 0, 0, 1, 1, 1]'
    fails 2 "--text_pair" "$sabok" tokenize "$tiny" --text a --text b --text_pair c
}

# Every line is JSON that a strict reader takes, whatever the text.
case_tokenize_json() {
    printf '"quotes" \\ and \001 \177 \360\237\231\202\n' >t.txt
    expect 0 "$sabok" tokenize "$tiny" t.txt "$tiny/texts.jsonl"
    sed 's/^{/{"text": "a", /' out >all.jsonl
    expect 0 "$sabok" tokenize "$tiny" all.jsonl --plain
    lines out 15
}
