# Tasks of models with a head.

case_task_classify() {
    model=$golden/bert-head-nli
    expect 0 "$sabok" run text-classification "$model" --text "the cat" --text "a dog"
    lines out 2
    grep -q '^{"label": "[a-z]*", "score": 0\.[0-9]*}$' out
    printf '{"text": "the cat"}\n{"text": "a dog"}\n' >t.jsonl
    "$sabok" run sentiment-analysis "$model" t.jsonl --batch_tokens 3 | cmp - out
    printf 'the cat\na dog\n' | "$sabok" run classify "$model" --threads 2 | cmp - out
    expect 0 "$sabok" run text-classification "$model" t.jsonl --top_k 2
    [ "$(grep -c '^\[{"label": [^]]*}, {"label": [^]]*}\]$' out)" -eq 2 ]
    expect 0 "$sabok" run text-classification "$model" --text x --return_all_scores --function_to_apply sigmoid
    [ "$(grep -o label out | wc -l)" -eq 3 ]
}

# A pair reads the same from options, from columns that are named, and from those of the usual names.
case_task_classify_pair() {
    model=$golden/bert-head-nli
    expect 0 "$sabok" run text-classification "$model" --text "the cat" --text_pair "a dog" --top_k 3
    mv out want
    printf 'text\ttext_pair\nthe cat\ta dog\n' >t.tsv
    printf '{"a": "the cat", "b": "a dog"}\n' >t.jsonl
    "$sabok" run text-classification "$model" t.tsv --top_k 3 | cmp - want
    "$sabok" run text-classification "$model" t.jsonl --top_k 3 --text_column a --text_pair_column b | cmp - want
    "$sabok" run text-classification "$model" --text "the cat" --top_k 3 >single
    ! cmp -s single want
    # A pipe is read only once, so its columns are not looked at beforehand.
    mkfifo pipe.jsonl
    printf '{"text": "the cat", "text_pair": "a dog"}\n' >pipe.jsonl &
    expect 0 timeout 60 "$sabok" run text-classification "$model" pipe.jsonl --top_k 3
    cmp out single
    printf '{"text": "the cat", "text_pair": "a dog"}\n' >pipe.jsonl &
    expect 0 timeout 60 "$sabok" run text-classification "$model" pipe.jsonl --top_k 3 --column text --pair text_pair
    cmp out want
}

case_task_errors() {
    fails 1 "bert-tiny: text-classification: the model's head is none" \
        "$sabok" run text-classification "$tiny" --text a
    fails 1 "expected sequence classification" "$sabok" run text-classification "$golden/bert-head-tag" --text a
    i=0
    while [ $i -lt 40 ]; do
        printf 'the cat '
        i=$((i + 1))
    done >long
    printf 'the cat\n%s\n' "$(cat long)" >t.txt
    model=$golden/bert-head-nli
    expect 1 "$sabok" run text-classification "$model" t.txt --output o.jsonl
    contains err "t.txt: line 2: bert-head-nli: 82 tokens, expected at most 30 without truncate"
    only long t.txt
    expect 0 "$sabok" run text-classification "$model" t.txt --truncate
    lines out 2
    expect 1 "$sabok" run text-classification "$model" --text "a cat" --text "$(cat long)"
    contains err "text 2: bert-head-nli: 82 tokens"
    fails 1 "max_length 31, expected at most 30" "$sabok" run classify "$model" --text a --max_length 31
}

case_task_tag() {
    model=$golden/bert-head-tag
    expect 0 "$sabok" run token-classification "$model" --text "the cat" --text "a dog" --ignore_labels ""
    lines out 2
    grep -q '^\[{"entity": "[^"]*", "score": 0\.[0-9]*, "index": 1, "word": "[^"]*", "start": 0, "end": [0-9]*}' out
    printf 'the cat\na dog\n' | "$sabok" run ner "$model" --batch_tokens 3 --ignore_labels "" | cmp - out
    for strategy in simple first average max; do
        expect 0 "$sabok" run ner "$model" --text "the cat" --ignore_labels "" --aggregation_strategy $strategy
        grep -q '^\[{"entity_group": "[^"]*", "score": 0\.[0-9]*, "word": "[^"]*", "start": 0, "end": [0-9]*}' out
        ! grep -q index out
    done
    expect 0 "$sabok" run ner "$model" --text "the cat" --ignore_labels O,B-PER,I-PER,B-LOC,I-LOC
    [ "$(cat out)" = "[]" ]
    fails 1 "expected token classification" "$sabok" run ner "$golden/bert-head-nli" --text a
    i=0
    while [ $i -lt 40 ]; do
        printf 'the cat '
        i=$((i + 1))
    done >long
    printf 'the cat\n%s\n' "$(cat long)" >t.txt
    fails 1 "t.txt: line 2: bert-head-tag: 82 tokens" "$sabok" run ner "$model" t.txt
    expect 0 "$sabok" run ner "$model" t.txt --truncate
    lines out 2
}

# Windows: a stride of 0 is one, too. The last entity is far behind the first window.
case_task_tag_stride() {
    model=$golden/tag/words
    i=0
    while [ $i -lt 40 ]; do
        printf 'the cat '
        i=$((i + 1))
    done >t.txt
    for stride in 0 7; do
        expect 0 "$sabok" run ner "$model" t.txt --stride $stride --aggregation_strategy simple --ignore_labels ""
        lines out 1
        grep -q '"end": 319}\]$' out
    done
    fails 1 "t.txt: line 1: words: 82 tokens" "$sabok" run ner "$model" t.txt --aggregation_strategy simple
    fails 1 "stride with aggregation_strategy none" "$sabok" run ner "$model" t.txt --stride 0
    fails 1 "stride 24, expected less than max_length, 24" \
        "$sabok" run ner "$model" t.txt --stride 24 --aggregation_strategy max
    fails 1 "stride 8, expected less than max_length, 8" \
        "$sabok" run ner "$model" t.txt --stride 8 --aggregation_strategy max --max_length 8
}

# A copy of the words model in ./m, all of whose labels are $1.
one_label() {
    cp -r "$golden/tag/words" m
    sed -e '/"label2id"/,/}/d' -e 's/"\([0-4]\)": "[^"]*"/"\1": "'"$1"'"/' "$golden/tag/words/config.json" >m/config.json
}

# Tags without prefix: equal neighbours are one entity.
case_task_tag_bug_104() {
    one_label PER
    for strategy in simple first average max; do
        expect 0 "$sabok" run ner m --text "the cat plays" --aggregation_strategy $strategy
        [ "$(grep -o '"entity_group": "PER"' out | wc -l)" -eq 1 ]
        grep -q '"word": "the cat plays", "start": 0, "end": 13}]$' out
    done
}

# Each B- opens an entity: of tokens, or of words where these get one label.
case_task_tag_bug_106() {
    one_label B-TOTAL
    expect 0 "$sabok" run ner m --text "5.975,74" --aggregation_strategy simple
    [ "$(grep -o '"entity_group": "TOTAL"' out | wc -l)" -eq 8 ]
    for strategy in first average max; do
        expect 0 "$sabok" run ner m --text "5.975,74" --aggregation_strategy $strategy
        [ "$(grep -o '"entity_group": "TOTAL"' out | wc -l)" -eq 5 ]
        grep -q '"word": "975", "start": 2, "end": 5}' out
    done
}

# The unknown token is the one the folder names, or its class; a general class has none. Unknown words then read as the text does.
case_task_tag_unk() {
    cp -r "$golden/tag/words" m
    text="the ЖЖ cat"
    expect 0 "$sabok" run ner m --text "$text" --ignore_labels ""
    mv out want
    grep -q '"word": "ЖЖ", "start": 4, "end": 6}' want
    sed -i '/"unk_token"/d' m/tokenizer_config.json
    expect 0 "$sabok" run ner m --text "$text" --ignore_labels ""
    grep -q '"word": "\[UNK\]", "start": 4, "end": 6}' out
    sed -i 's/PreTrainedTokenizerFast/BertTokenizerFast/' m/tokenizer_config.json
    "$sabok" run ner m --text "$text" --ignore_labels "" | cmp - want
    sed -i 's/"\[PAD\]"/"[PAD]", "unk_token": "[MASK]"/' m/tokenizer_config.json
    expect 0 "$sabok" run ner m --text "$text" --ignore_labels ""
    grep -q '"word": "\[UNK\]", "start": 4, "end": 6}' out
}
