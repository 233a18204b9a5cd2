# Labels made up on the command line.

case_zero_shot() {
    model=$golden/bert-head-nli
    expect 0 "$sabok" run zero-shot-classification "$model" --text "the cat" --text "a dog" --candidate_labels "music, dog,,she "
    lines out 2
    [ "$(grep -c '^{"sequence": "[a-z ]*", "labels": \["[a-z]*", "[a-z]*", "[a-z]*"\], "scores": \[0\.[0-9]*, 0\.[0-9]*, 0\.[0-9]*\]}$' out)" -eq 2 ]
    head -n 1 out | sed 's/.*"scores": \[//; s/\].*//' | tr ',' '\n' | awk '{ sum += $1 } END { exit !(sum > 0.99999 && sum < 1.00001) }'
    [ ! -s err ]
    printf 'text\nthe cat\na dog\n' >t.csv
    "$sabok" run zero-shot "$model" t.csv --candidate_labels music --candidate_labels dog,she --batch_tokens 9 | cmp - out
    "$sabok" run zero-shot "$model" t.csv --candidate_labels music,dog,she --hypothesis_template "This example is {0}." | cmp - out
    expect 0 "$sabok" run zero-shot "$model" t.csv --candidate_labels music,dog,she --multi_label
    ! head -n 1 out | sed 's/.*"scores": \[//; s/\].*//' | tr ',' '\n' | awk '{ sum += $1 } END { exit !(sum > 0.99999 && sum < 1.00001) }'
    grep '"entail' "$model/config.json"
    cp -r "$model" plain && sed 's/entail/follow/' "$model/config.json" >plain/config.json
    expect 0 "$sabok" run zero-shot plain t.csv --candidate_labels music,dog,she
    lines err 1
    contains err 'no name in label2id begins with "entail"; the last label is taken'
}

case_zero_shot_errors() {
    model=$golden/bert-head-nli
    fails 2 "expected --candidate_labels" "$sabok" run zero-shot "$model" --text a
    fails 2 "expected --candidate_labels" "$sabok" run zero-shot "$model" --text a --candidate_labels " ,"
    fails 1 "zero-shot-classification: the model's head is none" "$sabok" run zero-shot "$tiny" --text a --candidate_labels b
    fails 1 'hypothesis_template "it is", expected {} where' \
        "$sabok" run zero-shot "$model" --text a --candidate_labels b --hypothesis_template "it is"
    printf 'the cat\na a\n' >t.txt
    fails 1 't.txt: line 1: bert-head-nli: candidate label "a a a' \
        "$sabok" run zero-shot "$model" t.txt --candidate_labels "a a a a a a a a a a a a a a a a a a a a a a a a a a a a"
}
