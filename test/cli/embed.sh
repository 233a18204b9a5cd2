# run embed: vectors against the goldens, every way in and out.

# Folders whose vectors the reference gives for the folder's own prompt.
case_embed_golden() {
    tested=0
    for folder in "$golden"/bert-tiny*; do
        expect 0 "$sabok" run embed "$folder" "$folder/texts.jsonl" --output v.npy
        tensor "$folder/expected.safetensors" embedding >expected
        floats v.npy 128 "$(wc -l <expected)" >found
        close_to found expected || { echo "in $folder" >&2; return 1; }
        tested=$((tested + 1))
    done
    [ $tested -ge 10 ]
}

case_embed_prompt_name() {
    folder=$golden/bert-tiny-prompts
    for name in query document ask; do
        expect 0 "$sabok" run embed "$folder" "$folder/texts.jsonl" --prompt_name $name --output v.npy
        tensor "$folder/expected.safetensors" embedding.$name >expected
        floats v.npy 128 "$(wc -l <expected)" >found
        close_to found expected
    done
    expect 0 "$sabok" run embed "$folder" "$folder/texts.jsonl" --prompt "The man said " --output w.npy
    cmp v.npy w.npy
    fails 1 '"asks"' "$sabok" run embed "$folder" --text a --prompt-name asks
}

case_embed_spellings() {
    expect 0 "$sabok" run embed "$tiny" --text "The cat plays" --text "a"
    mv out first
    lines first 2
    expect 0 "$sabok" run --task embed --model "$tiny" --text="The cat plays" --text a
    cmp out first
    expect 0 "$sabok" run --task=sentence_embedding --model-name-or-path="$tiny" --text "The cat plays" --text a
    cmp out first
    printf 'The cat plays\na\n' >t.txt
    expect 0 "$sabok" run embed "$tiny" t.txt --quiet false
    cmp out first
    expect 0 "$sabok" run --task embed --model "$tiny" --input t.txt --no_mmap true --threads=1
    cmp out first
    expect 0 sh -c '"$1" run embed "$2" - <t.txt' - "$sabok" "$tiny"
    cmp out first
    expect 0 sh -c '"$1" run embed "$2" <t.txt' - "$sabok" "$tiny"
    cmp out first
    expect 0 "$sabok" run embed "$tiny" -- t.txt
    cmp out first
}

# A vector depends neither on its neighbours, nor on its place, nor on the threads.
case_embed_same_bits() {
    file=$golden/bert-tiny/texts.jsonl
    expect 0 "$sabok" run embed "$tiny" "$file" --threads 1
    sort out >first
    sort -r "$file" >turned.jsonl
    for threads in 1 2 3; do
        expect 0 "$sabok" run embed "$tiny" turned.jsonl --threads $threads --batch_tokens 7
        sort out | cmp - first
    done
}

case_embed_formats() {
    file=$golden/bert-tiny/texts.jsonl n=14 width=32
    for format in npy safetensors csv jsonl; do
        expect 0 "$sabok" run embed "$tiny" "$file" --output v.$format
        [ ! -s out ]
    done
    only v.npy v.safetensors v.csv v.jsonl
    head -c 6 v.npy | grep -q -a NUMPY
    [ "$(wc -c <v.npy)" -eq $((128 + 4 * n * width)) ]
    floats v.npy 128 $((n * width)) >npy
    tensor v.safetensors embeddings | cmp - npy
    lines v.csv $((n + 1))
    lines v.jsonl $n
    tr -d '[]' <v.jsonl | tr ',' '\n' >jsonl
    close_to jsonl npy
    tail -n +2 v.csv | tr ',' '\n' | cmp - jsonl
    expect 0 "$sabok" run embed "$tiny" "$file" --output v --output_format npy
    cmp v v.npy
    expect 0 "$sabok" run embed "$tiny" "$file" --output-format csv
    cmp out v.csv
    fails 1 "standard output takes" "$sabok" run embed "$tiny" "$file" --output_format npy
}

case_embed_truncate_dim() {
    expect 0 "$sabok" run embed "$tiny" --text "The cat"
    mv out whole
    expect 0 "$sabok" run embed "$tiny" --text "The cat" --truncate_dim 5
    cut -d, -f1-5 whole | sed 's/$/]/' | cmp - out
    expect 0 "$sabok" run embed "$tiny" --text "The cat" --truncate_dim 5 --normalize
    tr -d '[]' <out | tr ',' '\n' | awk '{ n += $1 * $1 } END { exit !(n > 0.99999 && n < 1.00001) }'
    fails 1 "truncate_dim" "$sabok" run embed "$tiny" --text a --truncate_dim 33
    fails 1 "max_seq_length" "$sabok" run embed "$tiny" --text a --max_seq_length 1000
}

# bugs.md 96: without --normalize the length is the model's own; with it the vector is divided by it.
case_embed_bug_96() {
    expect 0 "$sabok" run embed "$golden/bert-tiny-plain" --text "The cat"
    mv out plain
    expect 0 "$sabok" run embed "$golden/bert-tiny-plain" --text "The cat" --normalize
    cat plain out | tr -d '[]' | awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) { x[i] = $i; n += $i * $i } width = NF }
        NR == 2 { for (i = 1; i <= NF; i++) { d = $i - x[i] / sqrt(n); if (d * d > 1e-12) far++ } same = NF == width }
        END { exit !(NR == 2 && width > 1 && same && !far && (n > 1.1 || n < 0.9)) }'
}

case_embed_columns() {
    printf 'The cat plays\na\n' >t.txt
    expect 0 "$sabok" run embed "$tiny" t.txt
    mv out first
    printf 'id,body\n1,"The cat\n plays"\n2,a\n' >t.csv
    printf 'The cat plays\na\n' >t.txt
    expect 0 "$sabok" run embed "$tiny" t.csv --column body
    cmp out first
    printf 'text\tlabel\nThe cat plays\t1\na\t0\n' >t.tsv
    expect 0 "$sabok" run embed "$tiny" t.tsv
    cmp out first
    tail -n +2 t.tsv >bare
    expect 0 "$sabok" run embed "$tiny" bare --format tsv --no_header --column 0
    cmp out first
    printf '{"body": "The cat plays"}\n\n{"body": "\\u0061"}\n' >t.jsonl
    expect 0 "$sabok" run embed "$tiny" t.jsonl --column=body
    cmp out first
    fails 1 bodi "$sabok" run embed "$tiny" t.csv --column bodi
    fails 1 bodi "$sabok" run embed "$tiny" t.jsonl --column bodi
    fails 1 "t.txt" "$sabok" run embed "$tiny" t.txt --column text
    fails 2 "--column" "$sabok" run embed "$tiny" t.csv --column id,body
}

case_embed_files_in_turn() {
    printf 'The cat plays\n' >one.txt
    printf '{"text": "a"}\n' >two.jsonl
    expect 0 "$sabok" run embed "$tiny" one.txt two.jsonl --text "the dog"
    mv out first
    expect 0 "$sabok" run embed "$tiny" --text "the dog" --text "The cat plays" --text a
    cmp out first
}

# CRLF and a byte order mark are not text; a NUL is; invalid UTF-8 reads as U+FFFD.
case_embed_odd_bytes() {
    printf 'The cat plays\na\n' >t.txt
    expect 0 "$sabok" run embed "$tiny" t.txt
    mv out first
    printf '\357\273\277The cat plays\r\na' >t.txt
    expect 0 "$sabok" run embed "$tiny" t.txt
    cmp out first
    printf 'cat \377 dog\ncat \303( dog\nca\0t\n' >t.txt
    expect 0 "$sabok" run embed "$tiny" t.txt
    lines out 3
    mv out first
    printf 'cat \357\277\275 dog\ncat \357\277\275( dog\n' >t.txt
    expect 0 "$sabok" run embed "$tiny" t.txt
    head -2 first | cmp - out
}

case_embed_nothing() {
    : >empty.txt
    expect 0 "$sabok" run embed "$tiny" empty.txt
    [ ! -s out ]
    expect 0 "$sabok" run embed "$tiny" empty.txt --output v.npy
    [ "$(wc -c <v.npy)" -eq 128 ]
    expect 0 "$sabok" run embed "$tiny" --text ""
    lines out 1
}

# More rows than one group holds.
case_embed_many() {
    awk 'BEGIN { for (i = 0; i < 9000; i++) print "the cat " i % 97 }' >t.txt
    expect 0 "$sabok" run embed "$tiny" t.txt --output v.npy
    [ "$(wc -c <v.npy)" -eq $((128 + 4 * 9000 * 32)) ]
    floats v.npy $((128 + 4 * 97 * 89 * 32)) 32 >late
    floats v.npy 128 32 | cmp - late
}

case_features() {
    folder=$golden/bert-tiny-plain
    expect 0 "$sabok" run feature-extraction "$folder" "$folder/texts.jsonl"
    lines out 14
    tensor "$folder/expected.safetensors" hidden.0 >expected
    head -1 out | tr -d '[]' | tr ',' '\n' >found
    close_to found expected
    head -1 out | grep -q '^\[\[\[.*\], \[.*\]\]\]$'
    expect 0 "$sabok" run feature_extraction "$folder" --text a --output f.jsonl
    lines f.jsonl 1
    fails 2 "--output" "$sabok" run feature-extraction "$folder" --text a --output f.npy
}

case_similarity() {
    expect 0 "$sabok" run similarity "$tiny" --text "The cat" --text "The cat"
    awk -F'[:}]' '{ exit !($2 > 0.999999 && $2 < 1.000001) }' out
    grep -q '^{"score": [0-9.]*}$' out
    printf 'sentence1\tsentence2\nThe cat\tThe dog\na\tb\n' >t.tsv
    expect 0 "$sabok" run similarity "$tiny" t.tsv
    lines out 2
    head -1 out >first
    expect 0 "$sabok" run sentence-similarity "$tiny" --text "The cat" --text "The dog"
    cmp out first
    expect 0 "$sabok" run similarity "$tiny" t.tsv --similarity manhattan --plain
    grep -q '^-' out
    fails 2 "--text" "$sabok" run similarity "$tiny" --text a
    fails 2 "--column" "$sabok" run similarity "$tiny" t.tsv --column sentence1
}

case_search() {
    printf 'the dog runs\nThe cat plays\nguitar music\n' >t.txt
    expect 0 "$sabok" run similarity "$tiny" t.txt --query "The cat plays" --top_k 2
    lines out 2
    head -1 out | grep -q '"rank": 1, "corpus_id": 1, "score": [0-9.]*, "text": "The cat plays"}$'
    expect 0 "$sabok" run search "$tiny" t.txt --query "guitar music" --query "the dog runs" --plain --top_k 9
    lines out 9
    sed -n 2p out | grep -q "guitar music"
    sed -n 7p out | grep -q "the dog runs"
    # The output is JSON lines, which our own strict reader takes.
    expect 0 "$sabok" run similarity "$tiny" t.txt --query 'a "quoted" query' --output hits.jsonl
    expect 0 "$sabok" tokenize "$tiny" hits.jsonl --column query --plain
    lines out 3
}
