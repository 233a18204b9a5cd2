# The other verbs, help, and what is generated from the tables.

case_help() {
    expect 0 "$sabok" --version
    grep -q '^sabok [0-9.]*$' out
    expect 0 "$sabok" --help
    for verb in run eval tokenize inspect bench pull convert help; do
        grep -q "^  $verb " out
        "$sabok" $verb --help >text
        contains text "usage: sabok $verb"
        contains text "--threads N"
        "$sabok" help $verb | cmp - text
        "$sabok" $verb -h | cmp - text
        awk 'length($0) > 100 { exit 1 }' text
    done
}

case_manual_and_completion() {
    "$sabok" __manual >sabok.1
    contains sabok.1 ".TH SABOK 1"
    for word in feature\\\\-extraction truncate_dim no_truncation peak local_dir; do grep -q -- "$word" sabok.1; done
    for shell in bash zsh fish; do
        "$sabok" __completion $shell >completion.$shell
        contains completion.$shell truncate_dim
    done
    fails 2 "__completion" "$sabok" __completion csh
    command -v bash >/dev/null || return 0
    cat >try.sh <<'EOS'
. ./completion.bash
COMP_WORDS=(sabok run --truncate_) COMP_CWORD=2
compopt() { :; }
_sabok
echo "${COMPREPLY[@]}"
COMP_WORDS=(sabok bench --dtype float3) COMP_CWORD=3
_sabok
echo "${COMPREPLY[@]}"
EOS
    bash try.sh >out
    printf '%s\n' --truncate_dim float32 | cmp - out
}

case_inspect() {
    expect 0 "$sabok" inspect "$tiny"
    contains out "bert"
    contains out "float32 weights"
    expect 0 "$sabok" inspect "$tiny" --dtype int8 --json
    contains out '"dtype": "int8"'
    expect 0 "$sabok" inspect "$tiny" --program --batch_size 2 --sequence_length 8
    contains out matmul_f32
    contains out attention_f32
    fails 2 "--batch_size" "$sabok" inspect "$tiny" --program --batch_size 9223372036854775808 \
        --sequence_length 2 --output o.txt
    only
    expect 0 "$sabok" inspect "$tiny" --weights
    contains out "embeddings.word_embeddings.weight"
    expect 0 "$sabok" inspect --cpu
    contains out matmul_f32
    expect 0 "$sabok" inspect --cpu --isa c
    contains out matmul_f32_c
    expect 1 "$sabok" inspect --cpu --isa avx3
    contains err "avx3"
    for flags in "" --program --weights --cpu; do
        # shellcheck disable=SC2086 # no word when empty
        expect 0 "$sabok" inspect "$tiny" --json $flags --output o.jsonl
        sed 's/^{/{"text": "a", /' o.jsonl >all.jsonl
        expect 0 "$sabok" tokenize "$tiny" all.jsonl --plain
        [ -s out ]
    done
}

case_eval_sts() {
    printf 'subset\tscore\tsentence1\tsentence2\n' >t.tsv
    printf 'x\t5\tthe cat\tthe cat\nx\t3\tthe cat\tthe dog\ny\t0\tmusic\tthe man said\ny\t4\ta dog\tdog\n' >>t.tsv
    expect 0 "$sabok" eval sts "$tiny" t.tsv
    lines out 4
    grep -q '^all  *4 ' out
    expect 0 "$sabok" eval sts "$tiny" t.tsv --json
    lines out 1
    for key in pearson_cosine spearman_cosine pearson_manhattan spearman_dot spearman_euclidean; do
        contains out "\"$key\": "
    done
    contains out '"subsets": {"x": {'
    cut -f2- t.tsv >plain.tsv
    expect 0 "$sabok" eval sts "$tiny" plain.tsv --column sentence1,sentence2,score
    lines out 2
    printf 's\t1\nb\t2\n' >bad.tsv
    fails 1 "t.tsv: line 2: score: found \"x\"" "$sabok" eval sts "$tiny" t.tsv --column sentence1,sentence2,subset
    fails 1 sentence1 "$sabok" eval sts "$tiny" bad.tsv
}

# Correlations of the reference: over the same similarities a rank correlation of 1.
case_eval_sts_value() {
    printf 'sentence1\tsentence2\tscore\n' >t.tsv
    printf 'the cat\tthe cat\nthe cat\tthe dog\nmusic\tthe man said\na dog\tdog\n' >pairs
    while IFS="$(printf '\t')" read -r a b; do
        score=$("$sabok" run similarity "$tiny" --text "$a" --text "$b" --plain)
        printf '%s\t%s\t%s\n' "$a" "$b" "$score" >>t.tsv
    done <pairs
    expect 0 "$sabok" eval sts "$tiny" t.tsv
    grep -q '^all  *4  *100.00  *100.00$' out
}

case_bench() {
    expect 0 "$sabok" bench "$tiny" --batch_size 1,2 --sequence_length 4,8 --seconds 0.01
    [ "$(grep -c '%' out)" -ge 4 ]
    expect 0 "$sabok" bench "$tiny" --batch-size 2 --sequence-length 8 --seconds 0.01 --json --threads 1
    lines out 1
    for key in model dtype isa threads batch_size sequence_length ms_median ms_min ms_p99 sequences_per_s \
        tokens_per_s gflops peak_share; do
        contains out "\"$key\": "
    done
    expect 0 "$sabok" bench "$tiny" "$tiny/texts.jsonl" --seconds 0.01 --json
    contains out '"texts": 14'
    expect 0 "$sabok" bench "$tiny" --text "the cat" --text "a dog" --seconds 0.01 --json
    contains out '"texts": 2'
    : >empty.txt
    fails 1 "empty.txt: found no texts" "$sabok" bench --tokenizer "$tiny" empty.txt
    expect 0 "$sabok" bench --tokenizer "$tiny" "$tiny/texts.jsonl" --seconds 0.01 --json
    lines out 3
    for what in open ids encodings; do contains out "{\"what\": \"$what\", \"ms_median\": "; done
    [ "$(grep -c '"texts": 14, "bytes": ' out)" = 2 ]
    expect 0 "$sabok" bench --tokenizer "$tiny" "$tiny/texts.jsonl" --seconds 0.01
    lines out 4
    fails 2 "--tokenizer" "$sabok" bench --tokenizer "$tiny"
    expect 0 "$sabok" bench --config "$tiny/config.json" --sequence_length 4 --seconds 0.01
    expect 0 "$sabok" bench --peak --json --threads 1
    contains out '"peak_gflops": '
    expect 0 "$sabok" bench --kernel unit --shape 16x32x1 --seconds 0.01 # as docs/adding-a-kernel.md has it
    expect 0 "$sabok" bench --kernel matmul --shape 8x32x16,1x32x32 --seconds 0.01 --json
    lines out 2
    for kernel in matmul_i8 matmul_bf16w matmul_i8_c matmul_bf16t_c norm_f32_c; do
        expect 0 "$sabok" bench --kernel $kernel --shape 3x16x32 --seconds 0.01 --json
        contains out "\"kernel\": \"$kernel"
    done
    fails 1 "matmull" "$sabok" bench --kernel matmull
}
