# Texts in an order, by cross-encoders.

# The same from options and files; the activation that the config names, in its new place and in the old one.
case_task_rerank() {
    model=$golden/bert-head-one
    expect 0 "$sabok" run text-ranking "$model" --query "a dog" --text "the cat" --text "he plays" --text "the cat"
    lines out 1
    grep -q '^\[{"corpus_id": [012], "score": 0\.[0-9]*, "text": "[a-z ]*"}, .*}\]$' out
    grep -q '"corpus_id": 0, .*"corpus_id": 2, ' out
    mv out want
    printf '{"text": "the cat"}\n{"text": "he plays"}\n{"text": "the cat"}\n' >t.jsonl
    "$sabok" run rerank "$model" t.jsonl --query "a dog" --batch_tokens 3 | cmp - want
    printf 'a,text\n1,the cat\n2,he plays\n3,the cat\n' >t.csv
    "$sabok" run rerank "$model" t.csv --query "a dog" --threads 2 | cmp - want
    expect 0 "$sabok" run rerank "$model" t.csv --query "a dog" --query x --top_k 1
    lines out 2
    [ "$(grep -c '^\[{[^}]*}\]$' out)" -eq 2 ]
    cp -r "$model" new && cp -r "$model" old
    sed 's/^{/{"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"},/' "$model/config.json" >new/config.json
    sed 's/^{/{"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity",/' "$model/config.json" >old/config.json
    "$sabok" run rerank new t.csv --query "a dog" >logits
    "$sabok" run rerank old t.csv --query "a dog" | cmp - logits
    cp -r "$model" newest
    printf '[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"}]' >newest/modules.json
    printf '{"transformer_task": "sequence-classification"}' >newest/sentence_bert_config.json
    printf '{"activation_fn": "torch.nn.modules.linear.Identity", "prompts": {}}' >newest/config_sentence_transformers.json
    "$sabok" run rerank newest t.csv --query "a dog" | cmp - logits
    grep -o '"score": [^,]*' want | cut -d' ' -f2 >a
    grep -o '"score": [^,]*' logits | awk '{ print 1 / (1 + exp(-$2)) }' OFMT=%.9g >b
    lines a 3
    close_to a b
}

case_task_rerank_errors() {
    fails 1 "bert-head-nli: text-ranking: the model has 3 labels, expected 1" \
        "$sabok" run rerank "$golden/bert-head-nli" --query a --text b
    fails 1 "text-ranking: the model's head is none" "$sabok" run rerank "$tiny" --query a --text b
    fails 2 "expected --query" "$sabok" run rerank "$golden/bert-head-one" --text b
}
