#!/usr/bin/env bash
# bench/person: how a person's recordings are split, and with stand-ins for the program and the judges what it asks them and what it says.
set -u
judges=${MYXTTS_JUDGES_PYTHON:-python3}
. tests/support/shell.sh

ends_with a_mode_is_needed 2 bench/person
if ! command -v sox >/dev/null; then
    echo "skip person SKIPPED: there is no sox"
    exit $failed
fi

# Eight sentences of a second; the first has three takes, the latest of them corrected in its marks and twice as long.
mkdir -p "$dir/person/data"
take() { # name text seconds
    echo "$2" >"$dir/person/data/$1.txt"
    sox -D -n -r 48000 -c 2 -b 16 "$dir/person/data/$1.wav" synth "$3" sine 200 synth "$3" pinknoise mix tremolo 3 90 gain -20
}
for i in 1 2 3 4 5 6 7 8; do take "line_$i"_100 "This is line $i" 1; done
take line_1_99 "this is line 1" 1
take line_1_1000 "This is line 1." 2
corpus() { bench/person corpus --from "$dir/person" --out "$dir/data" --held 3 --minutes 0.05 "$@"; }
ends_with the_corpus_is_made 0 corpus
[ "$(cat "$dir"/data/held/metadata.csv "$dir"/data/train/metadata.csv | cut -d'|' -f2 | tr -d . | sort -u | wc -l)" = 8 ] &&
    [ "$(wc -l <"$dir/data/held/metadata.csv")" = 3 ] && [ "$(wc -l <"$dir/data/train/metadata.csv")" = 5 ]
verdict every_sentence_is_on_one_side $?
[ "$(soxi -D "$dir"/data/*/wavs/line_1.* | head -1 | cut -c1)" = 2 ] && grep -qhx 'line_1|This is line 1\.' "$dir"/data/*/metadata.csv
verdict the_latest_take_counts $?
[ "$(soxi -r "$dir"/data/held/wavs/*.wav | sort -u)" = 22050 ] && [ "$(soxi -c "$dir"/data/train/wavs/*.flac | sort -u)" = 1 ]
verdict recordings_have_one_channel_and_the_rate $?
few=$(wc -l <"$dir/data/minutes-0.05/metadata.csv")
[ "$few" -ge 2 ] && [ "$few" -le 3 ] && [ "$(find "$dir/data/minutes-0.05/wavs" -name '*.flac' | wc -l)" = "$few" ]
verdict minutes_are_some_of_the_rest $?
before=$(cat "$dir/data/held/metadata.csv")
ends_with the_corpus_again 0 corpus
[ "$before" = "$(cat "$dir/data/held/metadata.csv")" ]
verdict the_same_are_held_out_again $?
ends_with too_few_sentences 3 corpus --held 5

# A program that speaks recordings; judges that find what they are told to.
cat >"$dir/myxtts" <<'END'
#!/usr/bin/env bash
echo "$*" >>"$(dirname "$0")/calls"
data=$(dirname "$0")/data
while [ $# -gt 0 ]; do
    case $1 in
    --checkpoint-dir)
        mkdir -p "$2"
        echo "${PRINTED:-step 1}" >&2
        ;;
    --output-dir)
        n=0
        for f in "$data"/held/wavs/*.wav; do
            n=$((n + 1))
            cp "$f" "$2/0$n.wav"
            echo '{"seconds": 2.0, "text_seconds": 0.001, "mel_seconds": 0.001, "audio_seconds": 0.002, "error": null}'
        done
        ;;
    --text) echo '{"first_sound_seconds": 0.01}' ;;
    esac
    shift
done
END
cat >"$dir/judges" <<'END'
#!/usr/bin/env python3
import json, os, sys
def option(name):
    return sys.argv[sys.argv.index(name) + 1]
row = {"nisqa_difference": [float(os.environ["NISQA"]), -0.3, 0.1], "dnsmos_difference": [-0.1, -0.2, 0.0], "pitch_share": [1.0, 0.9, 1.1],
       "seconds_share": [0.98, 0.9, 1.0], "similarity_share": [0.96, 0.9, 1.0]}
if os.environ.get("WORDS"):
    row["words_wrong_difference"] = [float(os.environ["WORDS"]), -3, 4]
names = [a.split("=")[0] for a in sys.argv if "=" in a and not a.startswith("--")]
with open(option("--json-file"), "w") as f:
    json.dump({"rows": {n: row for n in names}}, f)
print(option("--blind-of") + "\n{}")
END
chmod +x "$dir/myxtts" "$dir/judges"
run() { env MYXTTS_BIN="$dir/myxtts" MYXTTS_JUDGES_PYTHON="$dir/judges" "$@" --data "$dir/data" --out "$dir/out"; }
ends_with a_good_voice_holds 0 run env NISQA=-0.1 WORDS=-1 bench/person run --device 0 --before "$dir/data/held/wavs"
log_has four_are_listened_to '^recordings,copies,before,voice$'
log_has words_hold '^words wrong, points +<= 0 +-1\.0000 .* holds$'
log_has the_speed_is_of_all_lines '^real-time factor .* 0\.0020 '
grep -q -- "train --network voice --data-path $dir/data/train .*--minutes 1.5 --model-gpu 0" "$dir/calls" &&
    grep -q -- "vocode .* --output $dir/out/copies-alone .*--iterations 0" "$dir/calls" && ! grep -q -- "synth .*/out/voice .*--iterations" "$dir/calls"
verdict the_voice_speaks_as_it_would_for_anybody $?
log_has no_warning_holds '^warnings +<= 0 +0\.0000 .*holds$'
ends_with a_warning_is_missed 1 run env NISQA=-0.1 WORDS=-1 PRINTED="warning: slow" bench/person run
log_has a_warning_is_counted '^warnings +<= 0 +2\.0000 .*MISSED$'
ends_with a_dull_voice_is_missed 1 run env NISQA=-0.3 WORDS=-1 bench/person run
log_has the_missed_figure_is_named "^NISQA-TTS beside the recordings' .*MISSED"
ends_with no_recogniser_is_no_fault 0 run env NISQA=-0.1 WORDS= bench/person run --language de
log_has no_recogniser_is_said '^words wrong, points .*SKIPPED'
: >"$dir/calls"
ends_with five_minutes 0 run env NISQA=-0.1 WORDS=3 bench/person five --minutes 0.05 --base none
grep -q -- "train .*/minutes-0.05 .*--init-from none" "$dir/calls"
verdict five_minutes_begin_with_the_base $?
ends_with a_corpus_is_missing 0 env MYXTTS_BIN="$dir/myxtts" bench/person run --data "$dir/nowhere" --out "$dir/out"
log_has a_missing_corpus_is_said 'SKIPPED: there is no corpus'

if ! "$judges" -c 'import numpy' 2>/dev/null; then
    echo "skip person_judge SKIPPED: $judges has no numpy"
    exit $failed
fi
mkdir -p "$dir/same" "$dir/half" "$dir/blind"
for f in "$dir"/data/held/wavs/*.wav; do
    sox -D "$f" "$dir/same/$(basename "$f")" gain -10 pad 0.5 0.5
    sox -D "$f" "$dir/half/$(basename "$f")" tempo 2
done
judge() { env MYXTTS_JUDGES_PYTHON="$judges" bench/person judge --held "$dir/data/held" --language xx --json-file "$dir/judged" "$@"; }
ends_with judged_without_networks 0 judge --blind "$dir/blind" same="$dir/same" half="$dir/half"
log_has a_missing_judge_is_said 'SKIPPED NISQA-TTS: no --nisqa CHECKOUT'
log_has no_words_without_a_recogniser "SKIPPED words: there is no recogniser for 'xx'"
"$judges" - "$dir/judged" <<'END'
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
near = lambda name, key, value, by: abs(rows[name][key][0] - value) < by
sys.exit(not (near("same", "seconds_share", 1, 0.001) and near("half", "seconds_share", 0.5, 0.05) and near("same", "movement_share", 1, 0.02)))
END
verdict lengths_and_movement_are_shares_of_the_recordings $?
[ "$(cut -f3 "$dir/blind-key.tsv" | sort | uniq -c | tr -d ' \n')" = 3half3recordings3same ] && [ "$(find "$dir/blind" -name '[abc].wav' | wc -l)" = 9 ] &&
    [ "$(soxi -r "$dir"/blind/*/a.wav | sort -u)" = 22050 ]
verdict blind_files_and_their_key $?
peaks=$(grep -E 'recordings|same' "$dir/blind-key.tsv" | while read -r id letter _; do sox "$dir/blind/$id/$letter.wav" -n stat 2>&1 | awk '/Maximum a/ { print $3 }'; done)
echo "$peaks" | awk 'NR % 2 { a = $1 } !(NR % 2) && (a / $1 < 0.97 || a / $1 > 1.03) { bad = 1 } END { exit bad || NR != 6 }'
verdict blind_files_are_equally_loud $?
ends_with a_missing_clip 3 judge nowhere="$dir/nowhere"
exit $failed
