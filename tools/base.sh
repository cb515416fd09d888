#!/usr/bin/env bash
# A base that voices of a few minutes begin with: one file with a voice and its vocoder, made of what is at hand.
#   tools/base.sh [corpus] [train] [export]      all three by default, each where the last one left off
# Settings are variables of the environment:
#   BASE_DATA       corpora of people, with commas: DIR,DIR,... each with metadata.csv (columns by |) and wavs/. Without it the English voices
#                   of flite speak a corpus
#   BASE_LANGUAGES  the language of each corpus, with commas (en for all)
#   BASE_OUT        the file to make (build/base/base.safetensors); all else is beside it, in training/
#   BASE_SIZE       nano or tiny (nano); BASE_VOCODER: nano, small or large (nano)
#   BASE_MINUTES    of training, of each of the two networks (10 with a GPU, 60 without; 0: BASE_OPTIONS say how long)
#   BASE_VOICES     voices of flite (slt,rms,awb,kal16: the English ones of 16 kHz; kal has 8), which take the lines in turn
#   BASE_TEXT       folder of metadata.csv whose last column is what flite speaks (../shared/data/ljspeech-text, else sentences of demo_text.sh)
#   BASE_LINES      how many of its lines, spread over the text: all, or a number (all with a GPU, 2000 without)
#   BASE_LICENCE, BASE_SOURCE, BASE_NOTE   what the file says of itself; the first is needed with BASE_DATA, whose owners alone can say it
#   BASE_OPTIONS    more options for `myxtts train`
#   BASE_BUILD      folder of the program (build); FLITE: flite's program; BASE_JOBS: cores for flite (all)
# Exit 2: wrong use, 3: something is missing, else that of what failed.
set -eu
cd "$(dirname "$0")/.."
gpu=0
if nvidia-smi -L >/dev/null 2>&1; then gpu=1; fi
by_gpu() { if [ $gpu = 1 ]; then echo "$1"; else echo "$2"; fi; }
out=${BASE_OUT:-build/base/base.safetensors}
size=${BASE_SIZE:-nano} vocoder=${BASE_VOCODER:-nano}
minutes=${BASE_MINUTES:-$(by_gpu 10 60)}
voices=${BASE_VOICES:-slt,rms,awb,kal16}
lines=${BASE_LINES:-$(by_gpu all 2000)}
text=${BASE_TEXT:-../shared/data/ljspeech-text}
myxtts=${BASE_BUILD:-build}/myxtts
work=$(dirname "$out")/training
corpus=$work/data run=$work/run
licence=${BASE_LICENCE:-} source=${BASE_SOURCE:-} note=${BASE_NOTE:-}

fail() { # code, text
    local code=$1
    shift
    echo "base: $*" >&2
    exit "$code"
}
case $out in *.safetensors) ;; *) fail 2 "BASE_OUT is '$out', but must end in .safetensors" ;; esac
case $size in nano | tiny) ;; *) fail 2 "BASE_SIZE is '$size', but must be nano or tiny" ;; esac
case $lines in all) ;; '' | *[!0-9]*) fail 2 "BASE_LINES is '$lines', but must be a number or all" ;; esac
if [ -n "${BASE_DATA:-}" ] && [ -z "$licence" ]; then
    fail 2 "BASE_DATA are recordings of people: BASE_LICENCE has to say what others may do with a voice made of them"
fi
stages="$*"
[ -n "$stages" ] || stages="corpus train export"
for s in $stages; do
    case $s in corpus | train | export) ;; *) fail 2 "there is no stage '$s': corpus, train, export" ;; esac
done

# The lines for flite: as many as wanted, at equal distances through the text.
flite_lines() {
    if [ -f "$text/metadata.csv" ]; then
        awk -F'|' -v want="$lines" '
            NF > 1 { kept[n++] = $0 }
            END { if (want == "all" || want > n) want = n; for (i = 0; i < want; i++) print kept[int(i * n / want)] }' "$text/metadata.csv"
    else
        echo "base: there is no $text/metadata.csv; flite speaks sentences of tools/demo_text.sh" >&2
        tools/demo_text.sh "$([ "$lines" = all ] && echo 4000 || echo "$lines")"
    fi
}

# One corpus of many: file|text|speaker|language. A speaker without a name is the corpus, with one he is CORPUS-NAME: two corpora may both
# have a "1".
join_corpora() {
    local dirs=() languages=() i dir name
    IFS=, read -ra dirs <<<"$BASE_DATA"
    IFS=, read -ra languages <<<"${BASE_LANGUAGES:-}"
    mkdir -p "$corpus/wavs"
    find "$corpus/wavs" -mindepth 1 -maxdepth 1 -type l -delete
    echo "file|text|speaker|language" >"$corpus/metadata.csv.part"
    for i in "${!dirs[@]}"; do
        dir=${dirs[$i]%/}
        [ -f "$dir/metadata.csv" ] || fail 3 "there is no $dir/metadata.csv"
        [ -d "$dir/wavs" ] || fail 3 "there is no folder $dir/wavs"
        name=$(basename "$dir")
        while [ -e "$corpus/wavs/$name" ]; do name=$name-$i; done
        ln -sfn "$(cd "$dir/wavs" && pwd)" "$corpus/wavs/$name"
        awk -F'|' -v OFS='|' -v name="$name" -v language="${languages[$i]:-en}" -v dir="$dir" '
            { sub(/\r$/, "") }
            NR == 1 && tolower($1) ~ /^(file|filename|path|id|audio|wav)$/ {
                for (i = 1; i <= NF; i++) column[tolower($i)] = i
                header = 1
                next
            }
            NF < 2 { bad++; next }
            {
                text = header && "text" in column ? $column["text"] : NF >= 3 ? $3 : $2
                if (text == "") text = $2
                who = header ? ("speaker" in column ? $column["speaker"] : "") : NF >= 4 ? $4 : ""
                spoken = header && "language" in column ? $column["language"] : ""
                file = $1
                sub(/^wavs\//, "", file)
                print name "/" file, text, who == "" ? name : name "-" who, spoken == "" ? language : spoken
                made++
            }
            END {
                if (bad) print "base: " dir ": " bad " lines without two columns are left out" >"/dev/stderr"
                if (!made) { print "base: " dir "/metadata.csv has no line id|text" >"/dev/stderr"; exit 3 }
            }' "$dir/metadata.csv" >>"$corpus/metadata.csv.part"
    done
    mv "$corpus/metadata.csv.part" "$corpus/metadata.csv"
    echo "base: $(($(wc -l <"$corpus/metadata.csv") - 1)) clips of ${#dirs[@]} corpora in $corpus"
}

stage_corpus() {
    mkdir -p "$work"
    if [ -n "${BASE_DATA:-}" ]; then
        join_corpora
        return
    fi
    flite_lines >"$work/lines.csv"
    tools/flite_corpus.sh "$corpus" "$work/lines.csv" "$voices" "${BASE_JOBS:-$(nproc)}"
}

# The sound settings are the program's defaults, so that people's corpora fit the base.
stage_train() {
    [ -f "$corpus/metadata.csv" ] || fail 3 "there is no corpus in $corpus; run tools/base.sh corpus"
    # shellcheck disable=SC2046,SC2086
    "$myxtts" train --network both --data-path "$corpus" --checkpoint-dir "$run" --model-size "$size" --vocoder-size "$vocoder" \
        $([ "$minutes" = 0 ] || echo --minutes "$minutes") --init-from none ${BASE_OPTIONS:-}
}

stage_export() {
    if [ -z "${BASE_DATA:-}" ]; then
        licence=${licence:-"Made of speech of CMU Flite's voices, Copyright Carnegie Mellon University: free to use and to pass on with this notice"}
        source=${source:-"CMU Flite's voices $voices, http://www.festvox.org/flite"}
        note=${note:-"A base to begin voices with: flite's $voices, trained on $(wc -l <"$corpus/metadata.csv") sentences"}
    fi
    mkdir -p "$(dirname "$out")"
    "$myxtts" export --checkpoint "$run" --vocoder "$run/vocoder" --output "$out" --voice-clips 1 --licence "$licence" --source "$source" --note "$note"
}

for s in $stages; do
    printf '\n== base: %s\n' "$s"
    "stage_$s"
done
