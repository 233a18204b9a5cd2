# What goes wrong: one line on standard error, the right exit status, and nothing half-written.

case_error_usage() {
    expect 2 "$sabok"
    fails 2 "did you mean run?" "$sabok" rum
    fails 2 "did you mean --threads?" "$sabok" run embed "$tiny" --treads 2
    fails 2 "did you mean --max_seq_length?" "$sabok" run embed "$tiny" --max-seq-lenght 2
    fails 2 "did you mean embed?" "$sabok" run embd "$tiny"
    fails 2 "tasks: embed" "$sabok" run
    fails 2 "model folder" "$sabok" run embed
    fails 2 "--top_k" "$sabok" run embed "$tiny" --text a --top_k 3
    fails 2 "--threads: found \"two\"" "$sabok" run embed "$tiny" --threads two
    fails 2 "--threads: found \"-1\"" "$sabok" run embed "$tiny" --threads -1
    fails 2 "--threads: expected N" "$sabok" run embed "$tiny" --threads
    fails 2 "--model: expected MODEL" "$sabok" run embed --model --text a
    fails 2 "--pin: found \"yes\"" "$sabok" run embed "$tiny" --pin=yes
    fails 2 "did you mean float32?" "$sabok" run embed "$tiny" --text a --dtype float23
    fails 2 "--batch_size" "$sabok" bench --config minilm --batch_size 1,0
    fails 2 "--shape" "$sabok" bench --kernel matmul --shape 3x4
    fails 2 "too many" "$sabok" inspect "$tiny" --program --batch_size 9223372036854775808 --sequence_length 2
    fails 2 "one argument too many" "$sabok" inspect "$tiny" "$tiny"
    fails 2 "-t" "$sabok" run embed "$tiny" -t a
    for command in "run embed" "run similarity"; do # more than memory could hold
        # shellcheck disable=SC2086 # words of a command
        fails 1 "truncate_dim" "$sabok" $command "$tiny" --text a --text b --truncate_dim 100000000000000
    done
}

case_error_missing_files() {
    fails 1 "nowhere" "$sabok" run embed nowhere --text a
    fails 1 "nowhere.txt" "$sabok" run embed "$tiny" nowhere.txt
    mkdir empty
    fails 1 "config.json" "$sabok" run embed empty --text a
    fails 1 "folder" "$sabok" run embed "$tiny" empty
    fails 1 "empty" "$sabok" tokenize empty --text a
    fails 1 "nowhere" "$sabok" inspect nowhere
    fails 1 "nowhere" "$sabok" bench nowhere
    fails 1 "nowhere" "$sabok" eval sts nowhere "$golden/bert-tiny/texts.jsonl" --column text,text,text
}

case_error_broken_model() {
    cp -r "$tiny" model
    chmod -R u+w model
    head -c 50000 "$tiny/model.safetensors" >model/model.safetensors
    fails 1 "model.safetensors" "$sabok" run embed model --text a
    cp "$tiny/model.safetensors" model/
    sed 's/"hidden_size": 32/"hidden_size": 48/' "$tiny/config.json" >model/config.json
    fails 1 "expected" "$sabok" run embed model --text a
    sed 's/"model_type": "bert"/"model_type": "brt"/' "$tiny/config.json" >model/config.json
    fails 1 '"brt"' "$sabok" inspect model
    printf '{' >model/config.json
    fails 1 "config.json: byte" "$sabok" run embed model --text a
}

# Files that may be missing are not missing when a link to them leads nowhere, as in a cache that lost a blob.
case_error_links_to_nowhere() {
    cp -r "$tiny" model
    chmod -R u+w model
    for name in modules.json tokenizer.json tokenizer_config.json sentence_bert_config.json \
        config_sentence_transformers.json; do
        ! [ -e model/$name ] || mv model/$name kept
        ln -s ../blobs/0123 model/$name
        fails 1 "model/$name: cannot open: No such file" "$sabok" run embed model --text a
        rm model/$name
        ! [ -e kept ] || mv kept model/$name
    done
    expect 0 "$sabok" run embed model --text a
}

case_error_no_permission() {
    cp -r "$tiny" model
    chmod 000 model
    # Root reads everything, unless it gives that up.
    if [ "$(id -u)" = 0 ]; then set -- setpriv --bounding-set=-dac_override,-dac_read_search; else set --; fi
    "$@" true 2>/dev/null || return 0
    fails 1 "model/config.json: cannot open: Permission denied" "$@" "$sabok" run embed model --text a
    fails 1 "model: cannot read: Permission denied" "$@" "$sabok" tokenize model --text a
    chmod 755 model
}

# SABOK_CHECK=1 names the model and the record that first made no number of a weight that is none.
case_error_nan_weight() {
    cp -r "$tiny" model
    chmod -R u+w model
    header=$(od -An -t u8 -N 8 model/model.safetensors | tr -d ' ')
    printf '\0\0\300\177' | dd of=model/model.safetensors bs=1 seek=$((8 + header)) conv=notrunc 2>/dev/null
    fails 1 "sabok: model: embeddings.out: layer_norm made a NaN at row 0" env SABOK_CHECK=1 \
        "$sabok" run embed model --text a --output v.npy
    only model
}

case_error_broken_input() {
    printf '{"text": "a"}\n{"text": \n' >t.jsonl
    fails 1 "t.jsonl:2" "$sabok" tokenize "$tiny" t.jsonl --output o.jsonl
    only t.jsonl
    fails 1 "t.jsonl:2" "$sabok" run embed "$tiny" t.jsonl --output v.npy
    only t.jsonl
    printf 'sentence1\tsentence2\tscore\na\tb\t1\na\tb\tone\n' >t.tsv
    fails 1 't.tsv: line 3: score: found "one"' "$sabok" eval sts "$tiny" t.tsv
    fails 1 'standard input: line 3: score: found "one"' sh -c '"$1" eval sts "$2" - --format tsv <t.tsv' - "$sabok" "$tiny"
    fails 1 "standard input: found no pairs" sh -c 'head -1 t.tsv | "$1" eval sts "$2" - --format tsv' - "$sabok" "$tiny"
    fails 1 "standard input: lines of text have no columns" sh -c '"$1" run similarity "$2" <t.tsv' - "$sabok" "$tiny"
}

case_error_unwritable() {
    fails 1 "none/v.npy" "$sabok" run embed "$tiny" --text a --output none/v.npy
    mkdir folder
    fails 1 "folder" "$sabok" run embed "$tiny" --text a --output folder
    only folder
    fails 1 "none/t.jsonl" "$sabok" tokenize "$tiny" --text a --output none/t.jsonl
}

case_error_full_disk() {
    [ -c /dev/full ]
    for command in "run embed" "run feature-extraction" "tokenize" "inspect"; do
        text="--text a"
        [ "$command" != inspect ] || text=
        found=0
        # shellcheck disable=SC2086 # words of a command
        "$sabok" $command "$tiny" $text >/dev/full 2>err || found=$?
        [ $found = 1 ]
        lines err 1
        contains err "No space left"
    done
    for command in --help "run --help" "help run" --version; do
        found=0
        # shellcheck disable=SC2086
        "$sabok" $command >/dev/full 2>err || found=$?
        [ $found = 1 ]
        lines err 1
        if grep -q Success err; then cat err && return 1; fi
    done
}

case_error_closed_streams() {
    fails 1 "standard input: cannot read" sh -c '"$1" run embed "$2" - <&-' - "$sabok" "$tiny"
    fails 1 "standard output: cannot write" sh -c '"$1" run embed "$2" --text a >&-' - "$sabok" "$tiny"
    fails 1 "standard output: cannot write" sh -c '"$1" run --help >&-' - "$sabok"
    expect 1 sh -c '"$1" run embed nowhere --text a 2>&-' - "$sabok"
    expect 0 "$sabok" run embed "$tiny" --text a --output v.npy
    expect 0 sh -c '"$1" run embed "$2" --text a --timing --output w.npy <&- >&- 2>&-' - "$sabok" "$tiny"
    cmp v.npy w.npy
}

# The shell's limit of a file's size stands for a disk that fills up in the middle.
case_error_disk_fills() {
    awk 'BEGIN { for (i = 0; i < 3000; i++) print "the cat" }' >t.txt
    printf 'kept\n' >v.npy
    found=0
    (ulimit -f 64 && exec "$sabok" run embed "$tiny" t.txt --output v.npy) >out 2>err || found=$?
    [ $found = 1 ]
    lines err 1
    contains err "v.npy"
    only t.txt v.npy
    contains v.npy kept
}

case_error_broken_pipe() {
    awk 'BEGIN { for (i = 0; i < 3000; i++) print "the cat" }' >t.txt
    { "$sabok" run embed "$tiny" t.txt 2>err || echo $? >status; } | head -1 >first
    lines first 1
    contains status 1
    lines err 1
    contains err "Broken pipe"
}

case_error_keeps_old_file() {
    printf 'a\nb\n' >t.txt
    expect 0 "$sabok" run embed "$tiny" t.txt --output v.npy
    cp v.npy ../old
    fails 1 "nowhere" "$sabok" run embed "$tiny" t.txt nowhere --output v.npy
    cmp v.npy ../old
    only t.txt v.npy
}

# start COMMAND...: in the background, with default signals; it reads ./pipe, which stays open.
start() {
    mkfifo pipe
    # A shell starts background jobs with SIGINT ignored; `timeout` gives a signal its default action back.
    timeout --preserve-status -s "$1" 2 "$sabok" run embed "$tiny" pipe --output v.npy >out 2>err &
    job=$!
    exec 3>pipe
    awk 'BEGIN { for (i = 0; i < 3000; i++) print "the cat" }' >&3
}

case_error_interrupted() {
    start INT
    found=0
    wait $job || found=$?
    exec 3>&-
    [ $found = 130 ] || { echo "exit status $found: $(cat err)"; return 1; }
    contains err "interrupted"
    only pipe
}

case_error_terminated() {
    start TERM
    found=0
    wait $job || found=$?
    exec 3>&-
    [ $found = 143 ] || { echo "exit status $found: $(cat err)"; return 1; }
    only pipe
}

# A pipe that stays full, because nobody reads it, keeps no signal from ending the command.
case_error_signal_at_full_pipe() {
    awk 'BEGIN { for (i = 0; i < 3000; i++) print "the cat" }' >t.txt
    mkfifo full
    exec 3<>full
    for try in INT:130 TERM:143 HUP:129; do
        found=0
        timeout --preserve-status -k 8 -s ${try%:*} 2 "$sabok" run embed "$tiny" t.txt >full 2>&1 || found=$?
        [ $found = ${try#*:} ] || { echo "${try%:*}: exit status $found"; return 1; }
    done
    exec 3>&-
}

# Weights that shrink while they are mapped: a message, and nothing half-written.
case_error_model_cut_short() {
    cp -r "$tiny" model
    chmod -R u+w model
    mkfifo pipe
    for threads in 1 2; do
        cp "$tiny/model.safetensors" model/
        "$sabok" run embed model pipe --threads $threads --output v.npy >out 2>err &
        job=$!
        exec 3>pipe
        echo "the cat" >&3
        # The model has been opened when the output begins.
        tries=0
        until [ -n "$(find . -name 'v.npy.tmp-*')" ] || [ $tries -ge 300 ]; do
            sleep 0.1
            tries=$((tries + 1))
        done
        : >model/model.safetensors
        exec 3>&-
        found=0
        wait $job || found=$?
        [ $found = 1 ] || { echo "exit status $found: $(cat err)"; return 1; }
        lines err 1
        contains err "model: a file of the model became shorter"
        only model pipe
    done
}

# Nothing can be tidied up then, but the file is not there under its name.
case_error_killed() {
    start KILL
    found=0
    wait $job || found=$?
    exec 3>&-
    [ $found -ge 128 ]
    [ ! -e v.npy ]
}
