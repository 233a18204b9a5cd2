# What makes scores of a classifier's outputs.

# One label, or several at once: sigmoid. One of many: softmax. A regression: the number itself.
case_task_bug_70() {
    for name in one multi nli regression; do
        "$sabok" run classify "$golden/bert-head-$name" --text "the cat" --return_all_scores >all
        "$sabok" run classify "$golden/bert-head-$name" --text "the cat" --return_all_scores --function_to_apply none >raw
        for file in all raw; do
            grep -o '"label": "[^"]*", "score": [^}]*' $file | sort | sed 's/.*"score": //' >$file.scores
        done
        case $name in
        one | multi) awk '{ print 1 / (1 + exp(-$1)) }' OFMT=%.9g raw.scores >want ;;
        nli) awk '{ e[NR] = exp($1); sum += e[NR] } END { for (i = 1; i <= NR; i++) print e[i] / sum }' OFMT=%.9g raw.scores >want ;;
        regression) cp raw.scores want ;;
        esac
        [ -s want ]
        close_to all.scores want
    done
}
