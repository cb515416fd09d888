#!/usr/bin/env bash
# A voice from nothing but text: flite speaks a corpus, myxtts learns it, speaks sentences it has not heard, and a recogniser counts the
# words that are wrong, beside flite's own and flite's through mel and Griffin-Lim.
#   tools/voice.sh [corpus] [train] [speak] [judge]      all four by default, each where the last one left off
# Settings are variables of the environment:
#   VOICE_DATA     folder of metadata.csv whose last column is the text to learn from (../shared/data/ljspeech-text)
#   VOICE_TEXT     sentences to speak, one a line (tests/data/sentences-en.txt)
#   VOICE_OUT      where everything goes (build/voice)
#   VOICE_VOICES   voices of flite, with commas (slt); several make one voice with several speakers, lines dealt out in turn
#   VOICE_EACH=1   every voice speaks every line instead
#   VOICE_LINES    how many lines: all, or a number, spread over the text (all with a GPU, 1200 without)
#   VOICE_CHARS    longest line that is used, in characters; 0: any (0 with a GPU, 80 without)
#   VOICE_MINUTES  of training (3 with a GPU, 30 without)
#   VOICE_SIZE     model size (tiny with a GPU, nano without)
#   VOICE_CURVE    sentences that earlier checkpoints speak too, for words wrong over minutes; 0: none (0 with a GPU, 30 without)
#   VOICE_MOST     points more wrong than Griffin-Lim that are still well (2 with a GPU and one voice, 3 with several, 10 without a GPU)
#   VOICE_BATCH    clips in a batch (48 with a GPU, 16 without: more steps in the same time)
#   VOICE_OPTIONS  more options for `myxtts train`
#   VOICE_BUILD    folder of the programs (build); FLITE: flite's program; VOICE_JOBS: cores for flite (all)
# VOICE_OUT gets sentences.txt, reference/VOICE/NN.wav (flite), spoken/VOICE/NN.wav, griffin-lim/VOICE/NN.wav and judge.json; corpus,
# checkpoints and logs are in VOICE_OUT/training. Exit 1: more words wrong than allowed, 2: wrong use, 3: something is missing.
set -eu
cd "$(dirname "$0")/.."
gpu=0
if nvidia-smi -L >/dev/null 2>&1; then gpu=1; fi
by_gpu() { if [ $gpu = 1 ]; then echo "$1"; else echo "$2"; fi; }
data=${VOICE_DATA:-../shared/data/ljspeech-text}
text=${VOICE_TEXT:-tests/data/sentences-en.txt}
out=${VOICE_OUT:-build/voice}
voices=${VOICE_VOICES:-slt}
lines=${VOICE_LINES:-$(by_gpu all 1200)}
chars=${VOICE_CHARS:-$(by_gpu 0 80)}
minutes=${VOICE_MINUTES:-$(by_gpu 3 30)}
size=${VOICE_SIZE:-$(by_gpu tiny nano)}
curve=${VOICE_CURVE:-$(by_gpu 0 30)}
batch=${VOICE_BATCH:-$(by_gpu 48 16)}
case $voices in *,*) most=3 ;; *) most=2 ;; esac
most=${VOICE_MOST:-$(by_gpu $most 10)}
build=${VOICE_BUILD:-build}
myxtts=$build/myxtts
corpus=$out/training/data run=$out/training/run

fail() { # code, text
    local code=$1
    shift
    echo "voice: $*" >&2
    exit "$code"
}
number() { case $2 in '' | *[!0-9]*) fail 2 "$1 is '$2', but must be a number" ;; esac }
[ "$lines" = all ] || number VOICE_LINES "$lines"
number VOICE_CHARS "$chars"
number VOICE_CURVE "$curve"
stages="$*"
[ -n "$stages" ] || stages="corpus train speak judge"
for s in $stages; do
    case $s in corpus | train | speak | judge) ;; *) fail 2 "there is no stage '$s': corpus, train, speak, judge" ;; esac
done
say() { printf '\n== %s\n' "$*"; }

# The lines to learn from: those short enough, as many as wanted, at equal distances through the text.
choose_lines() {
    local all=$lines
    [ "$all" != all ] || all=0
    awk -F'|' -v most="$chars" -v want="$all" '
        NF > 1 && (!most || length($NF) <= most) { kept[n++] = $0 }
        END { if (!want || want > n) want = n; for (i = 0; i < want; i++) print kept[int(i * n / want)] }' "$data/metadata.csv"
}

forget_clips() { # folder: the clips in it and in folders in it, and folders that are empty then
    [ -d "$1" ] || return 0
    find "$1" -maxdepth 3 -type f -name '[0-9][0-9]*.wav' -delete
    find "$1" -mindepth 1 -maxdepth 3 -type d -empty -delete
}

# The sentences by flite itself: what the voice is measured against.
make_reference() {
    local v
    forget_clips "$out/reference"
    awk '{ sub(/\r$/, ""); gsub(/\|/, ","); if ($0 ~ /[^ ]/) printf "%02d|%s\n", NR, $0 }' "$out/sentences.txt" >"$out/training/sentences.csv"
    for v in ${voices//,/ }; do
        tools/flite_corpus.sh "$out/training/reference-$v" "$out/training/sentences.csv" "$v" "${VOICE_JOBS:-$(nproc)}"
        mkdir -p "$out/reference/$v"
        cut -d'|' -f1 "$out/training/reference-$v/metadata.csv" | while read -r id; do
            cp "$out/training/reference-$v/wavs/$id.wav" "$out/reference/$v/$id.wav"
        done
    done
}

stage_corpus() {
    local each=
    [ -f "$data/metadata.csv" ] || fail 3 "there is no $data/metadata.csv; VOICE_DATA=DIR names the folder of the text"
    [ -s "$text" ] || fail 3 "there are no sentences in $text; VOICE_TEXT=FILE names others"
    [ "${VOICE_EACH:-0}" = 0 ] || each=--all
    mkdir -p "$out/training"
    choose_lines >"$out/training/lines.csv"
    tools/flite_corpus.sh $each "$corpus" "$out/training/lines.csv" "$voices" "${VOICE_JOBS:-$(nproc)}"
    cp "$text" "$out/sentences.txt"
    make_reference
}

stage_train() {
    [ -f "$corpus/metadata.csv" ] || fail 3 "there is no corpus in $corpus; run tools/voice.sh corpus"
    local keep='' made="voices $voices, lines $lines, characters $chars, each ${VOICE_EACH:-0}, size $size"
    # A run goes on where it stopped: not on other data or with another network.
    if [ -d "$run" ] && [ "$(cat "$out/training/run-of" 2>/dev/null)" != "$made" ]; then
        fail 2 "$run was trained with: $(cat "$out/training/run-of" 2>/dev/null || echo unknown settings); now it would be: $made. Give another VOICE_OUT, or remove it"
    fi
    echo "$made" >"$out/training/run-of"
    # The earlier checkpoints are needed for the curve.
    [ "$curve" = 0 ] || keep="--save-step 500 --keep-checkpoints 50"
    # shellcheck disable=SC2086
    "$myxtts" train --config configs/voice.yaml --data-path "$corpus" --checkpoint-dir "$run" --model-size "$size" --minutes "$minutes" \
        --batch-size "$batch" $keep ${VOICE_OPTIONS:-}
    if tail -1 "$run/log.jsonl" | grep -q '"stopped"'; then
        fail 1 "the training was stopped before its end; run it again to go on"
    fi
}

# Minutes of training after which the step of each checkpoint was done, as "MINUTES FILE", without the last one. `seconds` in the log
# begins anew when a run is resumed; then the steps after that point do not count any more.
checkpoint_minutes() {
    find "$run" -maxdepth 1 -name 'step-*.safetensors' | sort | sed '$d' | awk -v log_file="$run/log.jsonl" '
        function value(line, key) { return match(line, "\"" key "\": *[0-9.]+") ? substr(line, RSTART + length(key) + 3, RLENGTH - length(key) - 3) + 0 : -1 }
        BEGIN {
            while ((getline line <log_file) > 0) {
                if (line ~ /"event": *"resume"/) {
                    at = value(line, "step")
                    for (base = 0; n > 0; n--) if (step[n] <= at) { base = time[n]; break }
                }
                if (line ~ /"event": *"step"/) { step[++n] = value(line, "step"); time[n] = base + value(line, "seconds") }
            }
        }
        {
            at = $0
            sub(/.*step-0*/, "", at)
            for (i = n; i > 0; i--) if (step[i] <= at + 0) { printf "%.1f %s\n", time[i] / 60, $0; break }
        }'
}

speak_all() { # checkpoint, sentences, folder
    local v who
    for v in ${voices//,/ }; do
        who=()
        case $voices in *,*) who=(--speaker "$v") ;; esac
        mkdir -p "$3/$v"
        "$myxtts" synth --checkpoint "$1" --lines "$2" --output-dir "$3/$v" "${who[@]}" || [ $? = 1 ] # 1: findings
    done
}

stage_speak() {
    local newest points
    newest=$(find "$run" -maxdepth 1 -name 'step-*.safetensors' 2>/dev/null | sort | tail -1)
    [ -n "$newest" ] || fail 3 "there is no checkpoint in $run; run tools/voice.sh train"
    [ -s "$out/sentences.txt" ] || fail 3 "there is no $out/sentences.txt; run tools/voice.sh corpus"
    forget_clips "$out/spoken"
    speak_all "$newest" "$out/sentences.txt" "$out/spoken"
    [ "$curve" != 0 ] || return 0
    head -n "$curve" "$out/sentences.txt" >"$out/training/curve.txt"
    points=$(checkpoint_minutes)
    [ -n "$points" ] || return 0
    # At most six, the last ones of equal parts of the time.
    printf '%s\n' "$points" | awk '{ line[NR] = $0 } END { k = NR < 6 ? NR : 6; for (i = 1; i <= k; i++) print line[int(i * NR / k)] }' |
        while read -r at checkpoint; do
            speak_all "$checkpoint" "$out/training/curve.txt" "$out/spoken/minutes-$at"
        done
}

stage_judge() {
    local judge=$build/bench/voice extra=()
    [ -d "$out/spoken" ] || fail 3 "there is nothing in $out/spoken; run tools/voice.sh speak"
    [ -x "$judge" ] || fail 3 "there is no $judge (make $judge)"
    if ! "$judge" --check; then
        echo "voice: this machine has no recogniser, so nothing was judged. $out holds all that is needed: copy it (training/ can stay behind)" >&2
        echo "  to a machine with one (Debian, Ubuntu: apt-get install libpocketsphinx3 pocketsphinx-en-us) and run there: VOICE_OUT=DIR tools/voice.sh judge" >&2
        exit 3
    fi
    if compgen -G "$out/spoken/minutes-*" >/dev/null; then extra+=(--curve --minutes "$minutes"); fi
    "$judge" --out "$out" --config configs/voice.yaml --voices "$voices" --most "$most" "${extra[@]}" --json-file "$out/judge.json"
}

for s in $stages; do
    case $s in
    corpus) say "corpus: $lines lines of $data$([ "$chars" = 0 ] || echo ", at most $chars characters each,") by flite's $voices" ;;
    train) say "training: $size, $minutes minutes" ;;
    speak) say "speaking $out/sentences.txt" ;;
    judge) say "the recogniser's judgement" ;;
    esac
    "stage_$s"
done
