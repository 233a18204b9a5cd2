# The nearest texts of a file.

case_semantic_search() {
    printf 'the dog runs\nThe cat plays\nguitar music\n' >t.txt
    expect 0 "$sabok" run semantic-search "$tiny" t.txt --query "The cat plays" --query "the dog runs" --top_k 2
    lines out 4
    head -1 out | grep -q '^{"query": "The cat plays", "rank": 1, "corpus_id": 1, "score": [0-9.]*, "text": "The cat plays"}$'
    sed -n 3p out | grep -q '^{"query": "the dog runs", "rank": 1, "corpus_id": 0, "score": [0-9.]*, "text": "the dog runs"}$'
    printf 'text\nThe cat plays\nthe dog runs\n' >queries.csv
    "$sabok" run search "$tiny" t.txt --query_file queries.csv --top_k 2 | cmp - out
    "$sabok" run similarity "$tiny" --query "The cat plays" --query "the dog runs" --top_k 2 <t.txt | cmp - out
    fails 2 "expected --query TEXT or --query_file FILE" "$sabok" run semantic-search "$tiny" t.txt
    fails 1 "absent.txt" "$sabok" run semantic-search "$tiny" t.txt --query_file absent.txt
}

# A corpus of many groups: the hits, and the texts kept for them, are those of the lines themselves.
case_semantic_search_long() {
    awk 'BEGIN { for (i = 0; i < 9000; i++) print "text " i % 97 " of " i % 89 " and " i }' >t.txt
    expect 0 "$sabok" run semantic-search "$tiny" t.txt --query "text 5 of 7" --query "and 8999" --top_k 40
    lines out 80
    sed 's/.*"corpus_id": \([0-9]*\),.*/\1/' out >ids
    sed 's/.*"text": "\(.*\)"}$/\1/' out >texts
    awk 'NR == FNR { text[NR - 1] = $0; next } { print text[$1] }' t.txt ids | cmp - texts
    sed -n '1,40s/.*"score": \([^,]*\),.*/\1/p' out | sort -c -g -r
    [ "$(sort ids | uniq -c | awk '$1 > 2' | wc -l)" -eq 0 ]
}
