#!/usr/bin/env bash
# bench/many_speakers: the corpus of many speakers, who is held out, and how the voice is asked for each of them.
set -u
. tests/support/shell.sh

ends_with a_stage_is_needed 2 bench/many_speakers
if ! command -v flite >/dev/null || ! command -v espeak-ng >/dev/null; then
    echo "skip many_speakers SKIPPED: there is no flite or no espeak-ng"
    exit $failed
fi
mkdir -p "$dir/text"
for i in $(seq 10 39); do echo "l-$i|This is line $i|This is a line that is long enough to be said, number $(printf '%s' "$i" | tr '0-9' 'a-j')."; done >"$dir/text/metadata.csv"
corpus() { bench/many_speakers corpus "$dir/out" --text "$dir/text" --trained 4 --held-out 2 --clips 3 --sentences 2 --jobs 2 "$@"; }
ends_with the_corpus_is_made 0 corpus
[ "$(cut -d'|' -f4 "$dir/out/data/metadata.csv" | sort | uniq -c | awk '{ print $1 }' | tr '\n' ' ')" = "3 3 3 3 " ]
verdict every_trained_speaker_has_its_clips $?
[ "$(cut -d'|' -f2 "$dir/out/data/metadata.csv" | sort -u | wc -l)" = 12 ]
verdict no_line_is_said_twice $?
[ "$(find "$dir/out/data/wavs" -name '*.wav' -size +1k | wc -l)" = 12 ] && [ "$(find "$dir/out/reference" -name '0[12].wav' -size +1k | wc -l)" = 12 ]
verdict clips_and_sentences_are_spoken $?
held=$(awk -F'\t' '$2 == "held-out" { print $1 }' "$dir/out/speakers.tsv" | sort | tr '\n' ' ')
[ "$(cd "$dir/out/clip" && printf '%s\n' *.wav | sed 's/\.wav$//' | sort | tr '\n' ' ')" = "$held" ] && [ "$(echo "$held" | wc -w)" = 2 ]
verdict the_others_have_a_clip_to_listen_to $?
! cut -d'|' -f4 "$dir/out/data/metadata.csv" | grep -qxF "$(echo "$held" | tr ' ' '\n' | grep .)"
verdict nobody_who_is_held_out_is_in_the_corpus $?
before=$(stat -c '%n %y' "$dir"/out/data/wavs/*.wav)
ends_with the_corpus_again 0 corpus
[ "$(stat -c '%n %y' "$dir"/out/data/wavs/*.wav)" = "$before" ]
verdict again_makes_nothing $?
ends_with too_few_lines 3 corpus --clips 8
log_has too_few_lines_are_counted '30 lines that can be used'
ends_with too_many_speakers 2 corpus --trained 500
log_has the_most_speakers_are_said 'at most [0-9]+ speakers'

printf '#!/bin/sh\necho "$*" >>"%s/calls"\n' "$dir" >"$dir/myxtts"
chmod +x "$dir/myxtts"
ends_with the_voice_is_asked 0 env MYXTTS_BIN="$dir/myxtts" bench/many_speakers speak "$dir/out" "$dir/run" --iterations 5
[ "$(grep -c -- '--speaker' "$dir/calls")" = 4 ] && [ "$(grep -c -- "--reference $dir/out/clip/.*--iterations 5" "$dir/calls")" = 2 ]
verdict trained_ones_by_name_and_others_by_a_recording $?
exit $failed
