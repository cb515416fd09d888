#!/usr/bin/env bash
# A dataset folder spoken by flite: OUT/metadata.csv (id|raw|normalised, with several voices also |speaker) and OUT/wavs.
#   tools/flite_corpus.sh [--all] OUT LINES VOICES [JOBS]
# LINES: a text file of `id|raw|normalised` or `id|text` lines; the last column is spoken. VOICES: names of flite's voices, with commas
# (slt,rms,awb,kal16). Of several voices each line gets one, in turn; with --all every voice speaks every line, ids are ID-VOICE.
# JOBS: processes at once (all cores). FLITE in the environment: the program, where it is not in PATH.
# Run again, it makes only what is missing or has changed (OUT/spoken.tsv says what each file was made of). A line that flite cannot speak
# is named and left out of metadata.csv. Exit 2: wrong use, 3: no flite, no such voice, or nothing could be made.
set -eu
export LC_ALL=C
all=0
if [ "${1:-}" = --all ]; then
    all=1
    shift
fi
if [ $# -lt 3 ] || [ $# -gt 4 ] || [ -z "$1" ] || [ -z "$3" ]; then
    echo "usage: tools/flite_corpus.sh [--all] OUT LINES VOICES [JOBS]" >&2
    exit 2
fi
out=$1 lines=$2 voices=$3 jobs=${4:-$(nproc)}
export FLITE=${FLITE:-flite}
fail() {
    echo "flite_corpus: $*" >&2
    exit 3
}
command -v "$FLITE" >/dev/null || fail "there is no program '$FLITE' (apt-get install flite, or FLITE=PATH)"
[ -r "$lines" ] || fail "cannot read $lines"
there=" $("$FLITE" -lv | sed 's/^[^:]*: *//') "
for v in ${voices//,/ }; do
    case $there in *" $v "*) ;; *) fail "flite has no voice '$v'; it has:$there" ;; esac
done
mkdir -p "$out/wavs"

# id, voice, what flite is given, raw text, normalised text. flite reads bytes: typographic quotes and dashes and the few letters with
# accents of English texts become plain ones for it.
# shellcheck disable=SC1112
awk -F'|' -v OFS='\t' -v voices="$voices" -v all="$all" '
    BEGIN { n = split(voices, voice, ",") }
    function plain(t) {
        gsub(/“|”/, "\"", t); gsub(/‘|’/, "\047", t); gsub(/–|—/, "-", t)
        gsub(/é|è|ê|ë/, "e", t); gsub(/à|á|â|ä/, "a", t); gsub(/ü|ú|û|ù/, "u", t); gsub(/ö|ô|ó/, "o", t); gsub(/ï|î|í/, "i", t)
        gsub(/ç/, "c", t); gsub(/ñ/, "n", t); gsub(/æ/, "ae", t); gsub(/œ/, "oe", t)
        return t
    }
    { sub(/\r$/, ""); gsub(/\t/, " ") }
    NF < 2 || $1 == "" || $NF == "" { next }
    $1 !~ /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/ { print "flite_corpus: line " NR ": the id \"" $1 "\" is no plain file name, left out" >"/dev/stderr"; next }
    all { for (i = 1; i <= n; i++) print $1 (n > 1 ? "-" voice[i] : ""), voice[i], plain($NF), $2, $NF; next }
    { print $1, voice[k++ % n + 1], plain($NF), $2, $NF }' "$lines" >"$out/spoken.new"
total=$(wc -l <"$out/spoken.new")
[ "$total" -gt 0 ] || fail "$lines has no line id|text"

# What is there but was made of something else goes first; then the new list counts.
touch "$out/spoken.tsv"
awk -F'\t' -v old="$out/spoken.tsv" '
    BEGIN { while ((getline <old) > 0) made[$1] = $2 "\t" $3 }
    $1 in made && made[$1] != $2 "\t" $3 { print $1 }' "$out/spoken.new" |
    while IFS= read -r id; do rm -f "$out/wavs/$id.wav"; done
mv "$out/spoken.new" "$out/spoken.tsv"

there() { find "$out/wavs" -maxdepth 1 -name '*.wav' -size +44c -printf '%f\n' | sed 's/\.wav$//'; }
missing() { # as id, voice, text
    there | awk -F'\t' -v OFS='\t' -v list="$out/spoken.tsv" '
        { there[$1] }
        END { while ((getline <list) > 0) if (!($1 in there)) print $1, $2, $3 }'
}
todo=$(missing | wc -l)
[ "$todo" = "$total" ] || echo "flite_corpus: $((total - todo)) of $total files are there already" >&2

speak_some() { # folder, then id, voice, text ...; prints one line for each
    local folder=$1 part
    shift
    part=$folder/.part-$$
    while [ $# -ge 3 ]; do
        if "$FLITE" -voice "$2" -t "$3" -o "$part" >/dev/null 2>&1 && [ "$(stat -c %s "$part" 2>/dev/null || echo 0)" -gt 44 ]; then
            mv "$part" "$folder/$1.wav"
            echo "ok $1"
        else
            rm -f "$part"
            echo "failed $1"
        fi
        shift 3
    done
}
export -f speak_some
begun=$SECONDS said=$SECONDS count=0
if [ "$todo" -gt 0 ]; then
    some=$((todo / jobs / 4)) # sentences of one call of speak_some
    [ "$some" -ge 1 ] || some=1
    [ "$some" -le 20 ] || some=20
    # shellcheck disable=SC2016
    missing | tr '\t\n' '\0\0' | xargs -0 -n $((some * 3)) -P "$jobs" bash -c 'speak_some "$0" "$@"' "$out/wavs" |
        while read -r result id; do
            count=$((count + 1))
            [ "$result" = ok ] || echo "flite_corpus: flite cannot speak $id" >&2
            if [ $((SECONDS - said)) -ge 5 ]; then
                said=$SECONDS
                echo "flite_corpus: $count of $todo, about $(((todo - count) * (SECONDS - begun) / count)) s left" >&2
            fi
        done
    rm -f "$out"/wavs/.part-*
fi

there | awk -F'\t' -v OFS='|' -v list="$out/spoken.tsv" -v voices="$voices" '
    { there[$1] }
    END { while ((getline <list) > 0) if ($1 in there) { if (voices ~ /,/) print $1, $4, $5, $2; else print $1, $4, $5 } }' >"$out/metadata.csv.part"
made=$(wc -l <"$out/metadata.csv.part")
[ "$made" -gt 0 ] || fail "nothing could be made in $out"
mv "$out/metadata.csv.part" "$out/metadata.csv"
echo "$made clips by $voices, $((made - total + todo)) of them made now in $((SECONDS - begun)) s: $out"
