#!/usr/bin/env bash
# myxtts corpus as a command: what it writes, what it refuses, and that a folder never holds half a corpus.
set -u
bin=${MYXTTS_BIN:-build/myxtts}
data=${MYXTTS_DATA:-/nowhere}
. tests/support/shell.sh
if [ ! -x "$bin" ]; then
    echo "skip corpus SKIPPED: $bin was not built"
    exit 0
fi

ends_with "no recording is wrong use" 2 "$bin" corpus --output "$dir/c"
ends_with "no folder is wrong use" 2 "$bin" corpus x.wav
log_has "it names the option" "needs --output"
printf 'These are words.\n' >"$dir/book.txt"
: >"$dir/empty.txt"
head -c 5000 /dev/urandom >"$dir/noise.mp3"
ends_with "an unreadable recording fails" 3 "$bin" corpus "$dir/noise.mp3" --text "$dir/book.txt" --output "$dir/c"
log_has "and is named" "noise.mp3: not a sound file"
ends_with "a missing recording fails" 3 "$bin" corpus "$dir/none.wav" --text "$dir/book.txt" --output "$dir/c"
ends_with "an empty text fails" 3 "$bin" corpus "$dir/noise.mp3" --text "$dir/empty.txt" --output "$dir/c"
log_has "and says so" "empty.txt has no text in it"
[ ! -e "$dir/c" ]
verdict "none of them makes a folder" $?

if [ ! -d "$data/ljspeech-mini/wavs" ]; then
    echo "skip corpus_from_clips SKIPPED: no ljspeech-mini in MYXTTS_DATA"
    exit $failed
fi
mini=$data/ljspeech-mini
cut -d'|' -f2 "$mini/metadata.csv" | sed 's/[^.!?]$/&./' >"$dir/lj.txt"
mapfile -t wavs < <(cut -d'|' -f1 "$mini/metadata.csv" | sed "s,.*,$mini/wavs/&.wav,")

mkdir -p "$dir/mine/wavs"
echo "a|b" >"$dir/mine/metadata.csv"
ends_with "somebody's corpus is refused" 2 "$bin" corpus "${wavs[0]}" --output "$dir/mine"
[ "$(cat "$dir/mine/metadata.csv")" = "a|b" ]
verdict "and left alone" $?

ends_with "recordings and their text become a corpus" 0 "$bin" corpus "${wavs[@]}" --text "$dir/lj.txt" --output "$dir/c" --json
jq -e '.clips >= 20 and .found >= 25' "$dir/log" >/dev/null 2>&1 || grep -q '"clips": *[23][0-9]' "$dir/log"
verdict "most of them" $?
# Each recording is one line of the text: a clip of it has that text and no other.
awk -F'\t' -v meta="$mini/metadata.csv" 'BEGIN { while ((getline line < meta) > 0) { split(line, f, "|"); text[f[1]] = f[2] } }
    FNR > 1 && $6 != "" { n = split($1, p, "/"); id = p[n]; sub(/\.wav$/, "", id); t = $8; sub(/\.$/, "", t); if (!index(text[id], t)) { print id, t; bad++ } }
    END { exit bad > 0 }' "$dir/c/sentences.tsv" >"$dir/log"
verdict "with the right texts" $?
[ "$(wc -l <"$dir/c/metadata.csv")" = "$(find "$dir/c/wavs" -name '*.wav' | wc -l)" ]
verdict "a WAV for every line" $?
grep -q 'src="data:audio/' "$dir/c/report.html" && ! grep -q 'src="http' "$dir/c/report.html"
verdict "a page with sound in it" $?
ends_with "which can be prepared" 0 "$bin" info --data-path "$dir/c"

ends_with "without text it is only cut" 0 "$bin" corpus "${wavs[@]}" --output "$dir/loose"
log_has "and says what to do next" "metadata.csv, write .*; or run this again with --text"
grep -q '|$' "$dir/loose/metadata.csv"
verdict "texts are left to be filled in" $?

# Killed at some moment, then run again.
"$bin" corpus "${wavs[@]}" --text "$dir/lj.txt" --output "$dir/c" >/dev/null 2>&1 &
pid=$!
while [ -e "$dir/c/metadata.csv" ] && kill -0 $pid 2>/dev/null; do sleep 0.02; done
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
[ ! -e "$dir/c/metadata.csv" ]
verdict "a kill leaves no metadata.csv" $?
ends_with "the next run begins anew" 0 "$bin" corpus "${wavs[@]}" --text "$dir/lj.txt" --output "$dir/c"

cat >"$dir/german.txt" <<'TEXT'
Die alte Mühle am Bach war seit vielen Jahren verlassen. Niemand wusste, wem sie gehörte. Im Herbst kamen die Kinder und suchten dort nach Nüssen.
Der Bäcker schloss seinen Laden schon am frühen Nachmittag. Am nächsten Morgen lag der Schnee bis zu den Fenstern. Sie schrieb einen langen Brief an ihre Schwester.
Unser Nachbar repariert Uhren in einer kleinen Werkstatt. Der Zug nach Norden fährt um halb acht. Auf dem Dach saßen zwei schwarze Krähen und schwiegen.
TEXT
ends_with "another book in another language does not fit" 3 "$bin" corpus "${wavs[@]}" --text "$dir/german.txt" --output "$dir/wrong" --language de
log_has "and says so" "does not match the recording"
[ ! -e "$dir/wrong/metadata.csv" ] && [ -s "$dir/wrong/rejected.tsv" ]
verdict "the lists are there, a corpus is not" $?
exit $failed
