# run question-answering.

case_answer() {
    model=$golden/bert-head-answer
    expect 0 "$sabok" run question-answering "$model" --question "who?" --question "what" --context "the cat and a dog"
    lines out 2
    [ "$(grep -c '^{"score": [0-9.e-]*, "start": [0-9]*, "end": [0-9]*, "answer": "[^"]*"}$' out)" -eq 2 ]
    printf '{"id": 1, "context": "the cat and a dog", "question": "who?"}\n' >t.jsonl
    printf '{"id": 2, "context": "the cat and a dog", "question": "what"}\n' >>t.jsonl
    "$sabok" run qa "$model" t.jsonl --batch_tokens 1 --threads 2 | cmp - out
    printf 'q,c\nwho?,the cat and a dog\nwhat,the cat and a dog\n' >t.csv
    "$sabok" run qa "$model" t.csv --column q,c | cmp - out
    expect 0 "$sabok" run qa "$model" t.jsonl --topk 2
    [ "$(grep -c '^\[{"score": [^]]*}, {"score": [^]]*}\]$' out)" -eq 2 ]
}

differ() { if cmp -s "$1" "$2"; then echo "$1 is $2"; return 1; fi; }
lacks() { if grep -q -F -e "$1" out; then echo "out holds $1"; return 1; fi; }

case_answer_options() {
    model=$golden/bert-head-answer
    long="the man and the woman said that they could play music and that the cat was running after the dog"
    expect 0 "$sabok" run qa "$model" --question "who?" --context "$long" --max_answer_len 1 --top_k 50
    cp out one
    expect 0 "$sabok" run qa "$model" --question "who?" --context "$long" --top_k 50
    differ out one
    lacks '"answer": ""'
    expect 0 "$sabok" run qa "$model" --question "who?" --context "$long" --top_k 500 \
        --handle_impossible_answer
    contains out '"start": 0, "end": 0, "answer": ""'
    expect 0 "$sabok" run qa "$model" --question "who?" --context "$long" --max_seq_len 20 --doc_stride 2 --top_k 50
    differ out one
    # "guitars" is two pieces.
    expect 0 "$sabok" run qa "$model" --question "who?" --context "unwanted guitars" --top_k 30
    lacks '"answer": "guitar"'
    expect 0 "$sabok" run qa "$model" --question "who?" --context "unwanted guitars" --top_k 30 --align_to_words false
    contains out '"answer": "guitar"'
}

case_answer_errors() {
    model=$golden/bert-head-answer
    fails 1 "question-answering: the model's head is sequence classification" \
        "$sabok" run qa "$golden/bert-head-nli" --question a --context b
    fails 2 "--context: found 2 for 1 of --question" "$sabok" run qa "$model" --question a --context b --context c
    fails 2 "--context: expected a --question" "$sabok" run qa "$model" --context b
    fails 2 "--text: expected --question and --context" "$sabok" run qa "$model" --text b
    printf '{"question": "a", "context": "b"}\n{"question": "", "context": "b"}\n' >t.jsonl
    expect 1 "$sabok" run qa "$model" t.jsonl --output o.jsonl
    contains err "t.jsonl: line 2: bert-head-answer: a question or its context is empty"
    only t.jsonl
    fails 1 "doc_stride 9, expected at most max_seq_len, 8" \
        "$sabok" run qa "$model" --question a --context b --max_seq_len 8 --doc_stride 9
}
