# Models written anew as safetensors.

case_convert() {
    expect 0 "$sabok" convert "$tiny" out1 --quiet
    [ ! -s out ] && [ ! -s err ]
    cmp out1/model.safetensors "$tiny/model.safetensors"
    "$sabok" run embed "$tiny" --text "the cat" >wanted
    "$sabok" run embed out1 --text "the cat" | cmp - wanted
    # From a .bin, whose tensors are the same.
    mkdir bin
    cp -r "$tiny"/*.json "$tiny"/1_Pooling bin
    cp "$tiny/../torch/bert-tiny.bin" bin/pytorch_model.bin
    "$sabok" run embed bin --text "the cat" | cmp - wanted
    expect 0 "$sabok" convert bin out2 --max_shard_size 50KB
    contains err 'pooler.dense.weight'
    [ -e out2/model.safetensors.index.json ] && [ ! -e out2/pytorch_model.bin ]
    "$sabok" run embed out2 --text "the cat" | cmp - wanted
    expect 0 "$sabok" convert out2 out1 --overwrite --dtype float16 --quiet
    contains out1/config.json '"float16"'
    expect 0 "$sabok" run embed out1 --text "the cat"
    fails 1 "is there already" "$sabok" convert "$tiny" out1
    fails 1 "holds the model" "$sabok" convert out1 out1 --overwrite
    fails 1 "float32, float16 or bfloat16" "$sabok" convert "$tiny" out3 --dtype int8
    fails 2 "expected a model and a folder" "$sabok" convert "$tiny"
    for size in x 0 -1GB 5PB GB; do
        fails 2 "expected a size" "$sabok" convert "$tiny" out3 --max_shard_size=$size
    done
    # An attack in the weights: named, and nothing is written.
    printf '\200\002\212\012\154\374\234\106\371\040\152\250\120\031.\200\002cos\nsystem\n.' >bin/pytorch_model.bin
    fails 1 "pytorch_model.bin: byte 17: found the global 'os.system'" "$sabok" convert bin out3
    [ ! -e out3 ]
}

case_convert_interrupted() {
    mkdir big
    cp "$tiny/config.json" big
    # 64 MB of zeros in one tensor.
    header='{"a":{"dtype":"U8","shape":[64000000],"data_offsets":[0,64000000]}}     '
    printf '\110\000\000\000\000\000\000\000%.72s' "$header" >big/model.safetensors
    truncate -s 64000080 big/model.safetensors
    mkdir place
    "$sabok" convert big place/out --quiet &
    pid=$!
    sleep 0.03
    kill -TERM $pid 2>/dev/null || true
    status=0
    wait $pid || status=$?
    # Stopped in time, or done: never half.
    if [ $status = 0 ]; then
        cmp place/out/model.safetensors big/model.safetensors
    else
        [ $status = 143 ]
        [ -z "$(ls -A place)" ]
    fi
}
