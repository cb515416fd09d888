#!/usr/bin/env bash
# A small corpus of short phrases spoken by espeak-ng, then every step of the program on it. usage: tools/demo.sh build/myxtts
set -eu
myxtts=$1
demo=${DEMO_DIR:-build/demo}
say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }
step() { say "$@"; "$@"; }

# The phrases share their words, so that a voice can learn each word from several of them and then say a phrase it has not heard.
rm -rf "$demo"
mkdir -p "$demo/wavs"
n=0
for count in one two three four five six seven eight; do
    for colour in red green blue white black; do
        for thing in birds stones boats; do
            n=$((n + 1))
            [ $((n % 2)) = 0 ] || continue
            id=$(printf 'phrase-%03d' "$n")
            espeak-ng -v en-us -s 150 -w "$demo/wavs/$id.wav" "$count $colour $thing"
            printf '%s|%s %s %s|%s %s %s\n' "$id" "$count" "$colour" "$thing" "$count" "$colour" "$thing" >>"$demo/metadata.csv"
        done
    done
done
# Two lines that cannot be used, to show what becomes of them.
printf 'phrase-999|this clip does not exist|this clip does not exist\n' >>"$demo/metadata.csv"
printf '../../etc/passwd|an id that leaves the folder|an id that leaves the folder\n' >>"$demo/metadata.csv"

settings=(--config configs/demo.yaml --data-path "$demo")
step "$myxtts" prepare "${settings[@]}"
step "$myxtts" prepare "${settings[@]}"
step "$myxtts" info "${settings[@]}" || true
step "$myxtts" inspect "$demo/myxtts-cache" --utterance phrase-002
step "$myxtts" phonemize --text "two green boats"
step "$myxtts" mel "$demo/wavs/phrase-002.wav" --png "$demo/phrase-002.png"

# The last one is a phrase that is not in the corpus.
step "$myxtts" train "${settings[@]}" --checkpoint-dir "$demo/run"
if tail -1 "$demo/run/log.jsonl" | grep -q '"stopped"'; then
    echo "the demo was stopped" >&2
    exit 1
fi
step "$myxtts" eval --checkpoint "$demo/run" --data-path "$demo" || [ $? = 1 ] # 1: some clips did not end by themselves
newest=$(ls "$demo"/run/step-*.safetensors | sort | tail -1)
step "$myxtts" synth --checkpoint "$newest" --text "six white birds" --output "$demo/six-white-birds.wav" \
    --png "$demo/six-white-birds.png" --attention-png "$demo/attention.png" || [ $? = 1 ]
echo
echo "in $demo: the corpus and its caches, a voice that was trained on it (run/), a phrase it had never heard (six-white-birds.wav),"
echo "its mel and attention (six-white-birds.png, attention.png) and the loss over the steps (run/loss.png)"
