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

case_eval_tag() {
    model=$golden/bert-head-tag
    expect 0 "$sabok" eval token-classification "$model" "$golden/eval/tag.conll" --json
    same_values tag
    contains out '"eval_samples": 60, "words": 251, "words_left_out": 7'
    mv out want
    "$sabok" eval ner "$model" "$golden/eval/tag.jsonl" --json --batch_tokens 5 | cmp - want
    "$sabok" eval ner "$model" - --json <"$golden/eval/tag.conll" | cmp - want
    "$sabok" eval ner "$model" - --format jsonl --column tokens --tag_column ner_tags --json \
        <"$golden/eval/tag.jsonl" | cmp - want
    sed 's/^\([^ ]*\) X/1 \1 X/' "$golden/eval/tag.conll" | grep -v DOCSTART >shifted
    "$sabok" eval ner "$model" shifted --column 2 --tag_column 4 --json | cmp - want
    expect 0 "$sabok" eval token-classification "$model" "$golden/eval/tag.conll" --scheme IOB2 --json --output r.json
    mv r.json out
    same_values tag-iob2
    expect 0 "$sabok" eval tag "$model" "$golden/eval/tag.conll"
    grep -q '^PER  *0.5752  *0.6822  *0.6241  *129$' out
    grep -q '^accuracy 0.6932, 60 sentences, 251 words, 7 without a token$' out
}

case_eval_tag_errors() {
    model=$golden/bert-head-tag
    printf 'the O\ncat\n' >bad.conll
    fails 1 "bad.conll:2: found 1 column, expected at least 2" "$sabok" eval ner "$model" bad.conll
    printf 'the O\n\ncat B-PER\ndog E-PER\n' >bad.conll
    fails 1 'bad.conll: line 3: found the tag "E-PER", expected one that begins with a letter of IOB' \
        "$sabok" eval ner "$model" bad.conll --scheme IOB2
    expect 0 "$sabok" eval ner "$model" bad.conll
    printf '{"tokens": ["the", "cat"], "ner_tags": ["O"]}\n' >bad.jsonl
    fails 1 "bad.jsonl: line 1: found lists of words and tags that differ in length" "$sabok" eval ner "$model" bad.jsonl
    printf '{"tokens": [], "ner_tags": []}\n' >empty.jsonl
    fails 1 "empty.jsonl: found no tagged words" "$sabok" eval ner "$model" empty.jsonl
    : >empty.conll
    fails 1 "empty.conll: found no tagged words" "$sabok" eval ner "$model" empty.conll
    fails 1 "expected token classification" "$sabok" eval ner "$golden/bert-head-nli" bad.conll
    fails 1 "nowhere.conll" "$sabok" eval ner "$model" nowhere.conll
    fails 2 '--column: found "word", expected the number of a column' "$sabok" eval ner "$model" bad.conll --column word
    fails 2 "expected one file of tagged words" "$sabok" eval ner "$model" --text a
    i=0
    while [ $i -lt 40 ]; do
        echo "the O"
        i=$((i + 1))
    done >long.conll
    fails 1 "long.conll: line 1: bert-head-tag: 42 tokens, expected at most 30" "$sabok" eval ner "$model" long.conll
    expect 0 "$sabok" eval ner "$model" long.conll --truncate --json
    contains out '"words_left_out": 18'
}

case_eval_rank() {
    model=$golden/bert-head-one
    expect 0 "$sabok" eval text-ranking "$model" "$golden/eval/rank.tsv" --at_k 3 --json
    for file in out "$golden/eval/rank.json"; do
        grep -o -E '"eval_(mrr|ndcg)@3": [0-9.e-]*' "$file" | sed 's/.*: //' >>numbers
    done
    lines numbers 4
    head -2 numbers >a
    tail -2 numbers >b
    close_to a b
    contains out '"eval_queries": 12, "eval_samples": 91}'
    expect 0 "$sabok" eval rerank "$model" "$golden/eval/rank.tsv" --batch_tokens 9
    contains out "MRR@10 0.6278, nDCG@10 0.6770, 12 queries, 91 documents"
    printf 'query,text,label\nq,a,1\nq,b,-1\n' >bad.csv
    fails 1 "bad.csv: line 3: column 'label': found \"-1\", expected a number of 0 or more" \
        "$sabok" eval text-ranking "$model" bad.csv
    printf 'query,text,label\n' >empty.csv
    fails 1 "empty.csv: found no rows" "$sabok" eval text-ranking "$model" empty.csv
    fails 1 "found no column 'query'" "$sabok" eval text-ranking "$model" "$golden/eval/single.csv"
    fails 1 "the model has 3 labels, expected 1" "$sabok" eval text-ranking "$golden/bert-head-nli" "$golden/eval/rank.tsv"
    fails 2 "expected one file of queries" "$sabok" eval text-ranking "$model" --text a
}

# The model's own answers are right, others are not.
case_eval_answer() {
    model=$golden/bert-head-answer
    context="the man said that the cat was new and the dog was running with him"
    expect 0 "$sabok" run question-answering "$model" --question "who was new" --context "$context"
    answer=$(sed 's/.*"answer": "\(.*\)"}$/\1/' out)
    [ -n "$answer" ]
    cat >good.json <<EOF
{"data": [{"paragraphs": [{"context": "$context", "qas": [
  {"id": "1", "question": "who was new", "answers": [{"text": "zzzz", "answer_start": 0}, {"text": "The $answer!"}]},
  {"id": "2", "question": "who was new", "answers": [{"text": "zzzz"}]}]}]}]}
EOF
    expect 0 "$sabok" eval question-answering "$model" good.json --json
    [ "$(cat out)" = '{"eval_exact_match": 50.0, "eval_f1": 50.0, "eval_samples": 2}' ]
    expect 0 "$sabok" eval qa "$model" good.json
    grep -q '^all  *50.00  *50.00  *2$' out
    sed 's/{"id": "2".*/{"id": "2", "question": "who was new", "is_impossible": true, "answers": []}]}]}]}/' good.json >none.json
    expect 0 "$sabok" eval qa "$model" none.json --json
    contains out '"eval_HasAns_total": 1, "eval_NoAns_exact": '
    contains out '"eval_exact": '
    printf '{"data": [{"paragraphs": [{"qas": []}]}]}' >bad.json
    fails 1 'bad.json: byte 37: found a paragraph without "context"' "$sabok" eval qa "$model" bad.json
    printf '{"data": []}' >empty.json
    fails 1 "empty.json: found no questions" "$sabok" eval qa "$model" empty.json
    fails 1 "expected question answering" "$sabok" eval qa "$golden/bert-head-tag" good.json
    fails 2 "expected one file of questions" "$sabok" eval qa "$model" --question a --context b
}
