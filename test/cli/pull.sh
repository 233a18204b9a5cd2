# Models of a hub: fetched from a server on this machine, then used by name.

# hub_start FOLDER [DELAY_MS]: serves the folder as org/tiny, and makes ../home the place of everything kept.
hub_start() {
    "$(dirname "$sabok")/test/hub_server" "$1" org/tiny ../endpoint "${2:-0}" &
    hub=$!
    until [ -s ../endpoint ]; do sleep 0.02; done
    HF_ENDPOINT=$(cat ../endpoint) HF_HOME=$(cd .. && pwd)/home no_proxy='*'
    export HF_ENDPOINT HF_HOME no_proxy
    unset HF_TOKEN HF_TOKEN_PATH HF_HUB_CACHE HUGGINGFACE_HUB_CACHE HF_HUB_OFFLINE TRANSFORMERS_OFFLINE SABOK_LIBCURL
    storage=$HF_HOME/hub/models--org--tiny
    snapshot=$storage/snapshots/0123456789abcdef0123456789abcdef01234567
}

case_pull() {
    hub_start "$tiny"
    fails 1 '`sabok pull org/tiny` fetches it' "$sabok" run embed org/tiny --text a
    expect 0 "$sabok" pull org/tiny
    [ "$(cat out)" = "$snapshot" ]
    [ ! -s err ]
    kill $hub
    "$sabok" run embed "$tiny" --text "the cat" >wanted
    for id in org/tiny org/tiny@main org/tiny@0123456789abcdef0123456789abcdef01234567; do
        expect 0 "$sabok" run embed $id --text "the cat"
        cmp out wanted
        expect 0 "$sabok" tokenize $id --text "the cat" --plain
        contains out "the cat"
    done
    expect 0 "$sabok" inspect org/tiny
    fails 1 "no revision 'v2'" "$sabok" inspect org/tiny@v2
    # The hub is gone; offline the cache answers.
    fails 1 "127.0.0.1" "$sabok" pull org/tiny --quiet
    expect 0 env HF_HUB_OFFLINE=1 "$sabok" pull org/tiny
    [ "$(cat out)" = "$snapshot" ]
    fails 1 "HF_HUB_OFFLINE" env HF_HUB_OFFLINE=1 "$sabok" pull org/tiny --revision v2
    # A folder of the name comes first.
    mkdir -p org/tiny
    fails 1 "config.json" "$sabok" inspect org/tiny
}

case_pull_options() {
    hub_start "$tiny"
    expect 0 "$sabok" pull org/tiny@v1 --local_dir there --exclude "*.safetensors"
    [ "$(cat out)" = there ]
    [ ! -e there/model.safetensors ] && [ ! -e ../home/hub ]
    cmp there/config.json "$tiny/config.json"
    expect 0 "$sabok" pull org/tiny --include config.json --include "v*.txt" --revision v1
    [ -e "$snapshot/config.json" ] && [ ! -e "$snapshot/tokenizer.json" ]
    fails 1 "leave none" "$sabok" pull org/tiny --include none
    fails 1 "no revision 'v2'" "$sabok" pull org/tiny@v2
    fails 1 "org/other" "$sabok" pull org/other
    fails 1 "expected the name of a model" "$sabok" pull a/b/c
    fails 2 "expected the name of a model" "$sabok" pull
    fails 1 "nowhere.so" env SABOK_LIBCURL=/nowhere.so "$sabok" pull org/tiny
}

case_pull_interrupted() {
    cp -r "$tiny" big
    head -c 3000000 /dev/urandom >big/model.safetensors
    hub_start "$PWD/big" 20
    found=0
    timeout --preserve-status -s INT 2 "$sabok" pull org/tiny >out 2>err || found=$?
    [ $found = 130 ] || { echo "exit status $found: $(cat err)"; return 1; }
    contains err "interrupted"
    [ -s "$storage"/blobs/*.incomplete ]
    [ ! -e "$storage/refs" ]
    expect 0 "$sabok" pull org/tiny
    cmp "$snapshot/model.safetensors" big/model.safetensors
    [ ! -e "$storage"/blobs/*.incomplete ]
}

case_pull_two_at_once() {
    cp -r "$tiny" big
    head -c 500000 /dev/urandom >big/model.safetensors
    hub_start "$PWD/big" 10
    "$sabok" pull org/tiny >first &
    job=$!
    expect 0 "$sabok" pull org/tiny
    wait $job
    cmp first out
    cmp "$snapshot/model.safetensors" big/model.safetensors
}

# Linked, libcurl would cost every start 8 ms.
case_pull_links_no_curl() {
    command -v ldd >/dev/null || return 0
    ldd "$sabok" >libraries
    contains libraries libc.so
    if grep -q curl libraries; then return 1; fi
}
