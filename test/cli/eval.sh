# eval: metrics of labelled files beside those of the reference (test/golden/eval, written by ref/).

# same_values NAME: every eval_* value and the matrix of NAME.json stand in ./out, to the last digit.
same_values() {
    grep -o -E '"(eval_[a-z0-9_]*|confusion_matrix)": ([^],}]*[,}]|\[\[.*\]\])' out | tr -d ',}' >found
    grep -o -E '"(eval_[a-z0-9_]*|confusion_matrix)": ([^],}]*[,}]|\[\[.*\]\])' "$golden/eval/$1.json" | tr -d ',}' >wanted
    [ -s wanted ]
    while read -r value; do
        grep -q -x -F -e "$value" found || {
            echo "$1: expected $value, found $(grep -F -e "${value%: *}:" found)" >&2
            return 1
        }
    done <wanted
}

case_eval_classify() {
    model=$golden/bert-head-classify
    expect 0 "$sabok" eval text-classification "$model" "$golden/eval/single.csv" --json --confusion
    same_values single
    contains out '"eval_samples": 60'
    contains out '"average": "macro"'
    expect 0 "$sabok" eval sentiment-analysis "$model" --input "$golden/eval/single.csv" --positive POSITIVE --json
    contains out '"eval_precision": 1.0, "eval_recall": 0.09090909090909091, "eval_f1": 0.16666666666666666, "average": "binary"'
    expect 0 "$sabok" eval classify "$model" "$golden/eval/single.csv" --confusion
    grep -q '^macro  *0.5367  *0.3636  *0.3082  *60$' out
    grep -q '^accuracy 0.6167, Matthews 0.1744, 60 texts$' out
    grep -q '^POSITIVE  *0  *10  *1$' out
    expect 0 "$sabok" eval text-classification "$model" "$golden/eval/single.csv" --average micro --json --output r.json
    grep -q '"eval_f1": 0.6166666666666667, "average": "micro"' r.json
}

case_eval_classify_pair() {
    model=$golden/roberta-tiny-classify
    expect 0 "$sabok" eval text-classification "$model" "$golden/eval/pair.csv" --json --confusion
    same_values pair
    expect 0 "$sabok" eval text-classification "$model" "$golden/eval/pair.csv" --json --confusion --text_column sentence1 \
        --pair sentence2 --label_column label --batch_tokens 7
    same_values pair
    expect 0 "$sabok" eval text-classification "$model" "$golden/eval/pair.csv" --json --column sentence1
    ! grep -q '"eval_accuracy": 0.7333333333333333,' out
}

case_eval_classify_multi() {
    expect 0 "$sabok" eval text-classification "$golden/bert-head-multi" "$golden/eval/multi.jsonl" --json --zero_division 1
    same_values multi
    contains out '"average": "micro"'
    printf 'text,label\nthe cat,"rude, 3"\na dog,\n' >m.csv
    expect 0 "$sabok" eval text-classification "$golden/bert-head-multi" m.csv
    grep -q '^rude .* 1$' out
    grep -q '^spam .* 1$' out
    grep -q '^toxic .* 0$' out
}

case_eval_classify_regression() {
    expect 0 "$sabok" eval text-classification "$golden/bert-head-regression" "$golden/eval/regression.tsv" --json
    for file in out "$golden/eval/regression.json"; do
        grep -o -E '"eval_(pearson|spearmanr|mse)": [0-9.e-]*' "$file" | sed 's/.*: //' >>numbers
    done
    lines numbers 6
    head -3 numbers >a
    tail -3 numbers >b
    close_to a b
    printf 'text\tlabel\na\t1.5\nb\tgood\n' >bad.tsv
    fails 1 "bad.tsv: line 3: column 'label': found \"good\", expected a number" \
        "$sabok" eval text-classification "$golden/bert-head-regression" bad.tsv
}

# Labels by name or by number; what is wrong is named with file, line and column.
case_eval_classify_labels() {
    model=$golden/bert-head-classify
    printf 'text,label\nthe cat,1\na dog,NEUTRAL\n' >ids.csv
    printf '{"sentence": "the cat", "labels": ["NEUTRAL"]}\n{"sentence": "a dog", "labels": 1}\n' >lists.jsonl
    expect 0 "$sabok" eval text-classification "$model" ids.csv --json
    mv out want
    "$sabok" eval text-classification "$model" lists.jsonl --json | cmp - want
    "$sabok" eval text-classification "$model" - --format csv --json <ids.csv | cmp - want
    sed 1d ids.csv >bare.csv
    "$sabok" eval text-classification "$model" bare.csv --no_header --column 0 --label_column 1 --json | cmp - want
    printf 'text,label\n"two\nlines",1\nx,POSITIV\n' >bad.csv
    fails 1 "bad.csv: line 4: column 'label': found \"POSITIV\", expected one of NEGATIVE, NEUTRAL, POSITIVE" \
        "$sabok" eval text-classification "$model" bad.csv
    printf 'text,label\nx,3\n' >bad.csv
    fails 1 'found "3", expected one of' "$sabok" eval text-classification "$model" bad.csv
    printf '{"text": "x", "label": [0, 1]}\n' >bad.jsonl
    fails 1 "bad.jsonl: line 1: column 'label':" "$sabok" eval text-classification "$model" bad.jsonl
    printf '{"text": "x", "label": [[0]]}\n' >bad.jsonl
    fails 1 "bad.jsonl:1: byte 24: column 'label': found a list" "$sabok" eval text-classification "$model" bad.jsonl
    printf 'text,label\n"x,1\n' >bad.csv
    fails 1 "bad.csv:2: found the end of the file inside a quoted field" \
        "$sabok" eval text-classification "$model" bad.csv
    printf 'text,label\n' >empty.csv
    fails 1 "empty.csv: found no rows" "$sabok" eval text-classification "$model" empty.csv
    fails 1 "found no column 'y', expected one of: text, label" \
        "$sabok" eval text-classification "$model" ids.csv --label_column y
    fails 1 "the model's head is none" "$sabok" eval text-classification "$tiny" ids.csv
    fails 1 "expected --positive to choose one" "$sabok" eval text-classification "$model" ids.csv --average binary
    fails 1 'the model has no label "x"' "$sabok" eval text-classification "$model" ids.csv --positive x
    fails 1 "--confusion: expected a model that gives each text one label" \
        "$sabok" eval text-classification "$golden/bert-head-multi" ids.csv --confusion
    fails 2 "expected one file of labelled texts" "$sabok" eval text-classification "$model" --text a
}
