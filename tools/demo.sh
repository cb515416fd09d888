#!/usr/bin/env bash
# What the program does, on sentences that flite speaks. usage:
#   tools/demo.sh BUILD_FOLDER first   20 seconds of training on 100 sentences, from the base that comes with the program, and a sentence
#                                      that is not among them
#   tools/demo.sh BUILD_FOLDER         a corpus of its own, then every step of the program on it, from the beginning, and what a recogniser
#                                      hears in sentences that the voice has not heard
# DEMO_DIR: where it goes (build/demo; the first sound into DEMO_DIR-first); DEMO_MINUTES: of training; DEMO_LINES: sentences of the corpus;
# FLITE: flite's program.
set -eu
cd "$(dirname "$0")/.."
build=$1
myxtts=$build/myxtts
demo=${DEMO_DIR:-build/demo}
minutes=${DEMO_MINUTES:-5}
# As it would be typed: what the shell would take apart is in quotation marks.
quoted() {
    local arg
    for arg; do
        case $arg in
        '' | *[!A-Za-z0-9_./:=,+@%-]*) printf " '%s'" "${arg//\'/\'\\\'\'}" ;;
        *) printf ' %s' "$arg" ;;
        esac
    done
}
say() { printf '\n\033[1m$%s\033[0m\n' "$(quoted "$@")"; }
step() { say "$@"; "$@"; }

# Played where somebody listens; named in any case.
hear() { # file
    local player
    if [ -t 1 ]; then
        for player in pw-play paplay 'aplay -q' 'ffplay -nodisp -autoexit -loglevel quiet'; do
            # shellcheck disable=SC2086 # a program and its arguments
            if command -v "${player%% *}" >/dev/null && $player "$1" 2>/dev/null; then break; fi
        done
    fi
    printf '\nlisten to \033[1m%s\033[0m\n' "$(realpath "$1")"
}

if [ "${2:-}" = first ]; then
    first=$demo-first sentence="My brother found three keys in the garden."
    echo "A voice in 20 seconds: 100 sentences for it to learn, and one that is not among them."
    rm -rf "$first"
    mkdir -p "$first"
    echo "$sentence" >"$first/sentence.txt"
    tools/demo_text.sh 100 "$first/sentence.txt" >"$first/text.csv"
    step tools/flite_corpus.sh "$first" "$first/text.csv" slt
    step "$myxtts" train "$first" --checkpoint-dir "$first/run" --minutes 0.3
    # That is no time for a vocoder: the one of the base speaks.
    step "$myxtts" synth "$sentence" --checkpoint "$first/run" --vocoder bases/english-nano.safetensors --output "$first/first.wav"
    hear "$first/first.wav"
    exit
fi

# Sentences that are not in the corpus; every word of them is, in others. The recogniser gets all of them right when flite itself says them:
# what it gets wrong is the voice's.
printf '\nNow every step of the program, on a larger corpus: %s minutes of training, and a few more for the rest.\n' "$minutes"
rm -rf "$demo"
mkdir -p "$demo/reference/slt"
cat >"$demo/sentences.txt" <<'END'
My brother found three keys in the garden.
Can you find my blue jacket today?
Please bring the yellow blanket.
My friend painted the wooden table.
I found a silver ring for my daughter.
END
tools/demo_text.sh "${DEMO_LINES:-600}" "$demo/sentences.txt" >"$demo/text.csv"
step tools/flite_corpus.sh "$demo" "$demo/text.csv" slt
# Two lines that cannot be used, to show what becomes of them.
printf 'demo-9999|this clip does not exist|this clip does not exist\n' >>"$demo/metadata.csv"
printf '../../etc/passwd|an id that leaves the folder|an id that leaves the folder\n' >>"$demo/metadata.csv"

settings=(--config configs/demo.yaml --data-path "$demo")
for _ in 1 2; do
    step "$myxtts" prepare "${settings[@]}" || [ $? = 1 ] # 1: the two lines
done
step "$myxtts" info "${settings[@]}" || [ $? = 1 ]
step "$myxtts" inspect "$demo/myxtts-cache" --utterance demo-0002
step "$myxtts" phonemize --text "My brother found three keys in the garden."
step "$myxtts" mel "$demo/wavs/demo-0002.wav" --png "$demo/demo-0002.png"

step "$myxtts" train "${settings[@]}" --checkpoint-dir "$demo/run" --minutes "$minutes"
if tail -1 "$demo/run/log.jsonl" | grep -q '"stopped"'; then
    echo "the demo was stopped" >&2
    exit 1
fi
step "$myxtts" eval --checkpoint "$demo/run" --data-path "$demo" || [ $? = 1 ] # 1: findings
step "$myxtts" align --checkpoint "$demo/run" --data-path "$demo" --output "$demo/align" || [ $? = 1 ]
newest=$(find "$demo/run" -maxdepth 1 -name 'step-*.safetensors' | sort | tail -1)
step "$myxtts" synth --checkpoint "$newest" --text "My brother found three keys in the garden." --output "$demo/keys.wav" --png "$demo/keys.png" || [ $? = 1 ]
step "$myxtts" synth --checkpoint "$newest" --lines "$demo/sentences.txt" --output-dir "$demo/spoken/slt" || [ $? = 1 ]

n=0
while IFS= read -r line; do
    n=$((n + 1))
    "${FLITE:-flite}" -voice slt -t "$line" -o "$demo/reference/slt/$(printf %02d "$n").wav"
done <"$demo/sentences.txt"
if "$build/bench/voice" --check; then
    step "$build/bench/voice" --out "$demo" --config configs/demo.yaml --heard || [ $? = 1 ]
else
    echo "No recogniser is installed that could judge the sentences (apt-get install libpocketsphinx3 pocketsphinx-en-us): listen to $demo/spoken/slt"
fi
echo
hear "$demo/keys.wav"
cat <<END

$demo has the corpus and its caches, and
  run/               the voice; run/loss.png: its loss, step by step
  keys.wav, spoken/  sentences that it had never heard; keys.png: the mel of the first
  align/             which symbol is where in the recordings
END
