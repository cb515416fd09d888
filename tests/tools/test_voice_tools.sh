#!/usr/bin/env bash
# What surrounds `make voice`: the texts, the corpus by flite, tools/voice.sh with a program in the place of myxtts that trains nothing and
# "speaks" recordings, the judge (bench/voice) on right and on shuffled clips, the word borders.
set -u
out=${MYXTTS_OUT:-build}
voice=$(realpath -m "$out/bench/voice")
. tests/support/shell.sh

# ---- texts ----
sentences=tests/data/sentences-en.txt
awk '{ odd = NR % 2; if (odd ? NF < 6 || NF > 15 : NF < 16 || NF > 28) bad++; if ($0 ~ /[0-9|]/) bad++ } END { exit bad || NR != 120 }' $sentences
verdict sentences_are_120_short_and_long_in_turn $?
[ "$(sort -u $sentences | wc -l)" = 120 ]
verdict sentences_are_all_different $?
good=0
for words in 3 4 5 7 8 12 30 61; do
    tools/long_text.sh 20 $words | awk -v n=$words 'NF != n { bad++ } END { exit bad || NR != 20 }' || good=1
done
verdict long_text_has_the_words_asked_for $good
good=0
for chars in 100 137 1000 10000; do
    [ "$(tools/long_text.sh --chars $chars | wc -lc | tr -s ' ')" = " 1 $((chars + 1))" ] || good=1
done
verdict long_text_has_the_characters_asked_for $good
[ "$(tools/long_text.sh 500 30 | sort -u | wc -l)" = 500 ] && [ "$(tools/long_text.sh 9 30)" = "$(tools/long_text.sh 9 30)" ]
verdict long_text_is_varied_and_always_the_same $?
ends_with long_text_refuses_two_words 2 tools/long_text.sh 5 2
tools/demo_text.sh 3 | cut -d'|' -f2 >"$dir/held"
tools/demo_text.sh 600 "$dir/held" >"$dir/demo.csv"
[ "$(cut -d'|' -f2 "$dir/demo.csv" | sort -u | wc -l)" = 600 ] && ! cut -d'|' -f2 "$dir/demo.csv" | grep -qxFf "$dir/held"
verdict demo_text_leaves_out_what_it_is_told $?
ends_with voice_refuses_an_unknown_stage 2 tools/voice.sh sing
ends_with voice_refuses_lines_that_are_no_number 2 env VOICE_LINES=many tools/voice.sh corpus
ends_with voice_misses_the_text 3 env VOICE_DATA="$dir/nowhere" VOICE_OUT="$dir/voice" tools/voice.sh corpus
ends_with flite_corpus_says_that_flite_is_missing 3 env FLITE="$dir/flite" tools/flite_corpus.sh "$dir/x" $sentences slt

if ! command -v "${FLITE:-flite}" >/dev/null; then
    echo "skip voice_tools_with_flite SKIPPED: there is no flite"
    exit $failed
fi

# ---- corpus ----
mkdir -p "$dir/text"
cat >"$dir/text/metadata.csv" <<'END'
a-1|Good morning, Mr. Müller.|Good morning, mister Müller.
a-2|Where is the 1 key?|Where is the one key?
a-3|It is under the table in the kitchen.|It is under the table in the kitchen.
../a-4|An id that leaves the folder.|An id that leaves the folder.
a-5||
END
ends_with flite_corpus_speaks 0 tools/flite_corpus.sh "$dir/corpus" "$dir/text/metadata.csv" slt 2
log_has flite_corpus_names_a_bad_id 'a-4'
cmp -s "$dir/corpus/metadata.csv" <(head -3 "$dir/text/metadata.csv")
verdict flite_corpus_keeps_the_lines_as_they_are $?
"${FLITE:-flite}" -voice slt -t "Where is the one key?" -o "$dir/one.wav"
cmp -s "$dir/one.wav" "$dir/corpus/wavs/a-2.wav"
verdict flite_corpus_speaks_the_last_column $?
ends_with flite_corpus_again_makes_nothing 0 tools/flite_corpus.sh "$dir/corpus" "$dir/text/metadata.csv" slt 2
log_has flite_corpus_says_so ', 0 of them made now'
sed -i 's/kitchen/garden/g' "$dir/text/metadata.csv"
rm "$dir/corpus/wavs/a-1.wav"
ends_with flite_corpus_after_a_change 0 tools/flite_corpus.sh "$dir/corpus" "$dir/text/metadata.csv" slt 2
log_has flite_corpus_makes_what_is_missing_or_changed ', 2 of them made now'
"${FLITE:-flite}" -voice slt -t "It is under the table in the garden." -o "$dir/three.wav"
cmp -s "$dir/three.wav" "$dir/corpus/wavs/a-3.wav"
verdict flite_corpus_remakes_a_changed_line $?
ends_with flite_corpus_deals_out_voices 0 tools/flite_corpus.sh "$dir/two" "$dir/text/metadata.csv" slt,kal16 2
[ "$(cut -d'|' -f1,4 "$dir/two/metadata.csv" | tr '\n' ' ')" = "a-1|slt a-2|kal16 a-3|slt " ]
verdict flite_corpus_names_the_speakers $?
ends_with flite_corpus_lets_all_speak_all 0 tools/flite_corpus.sh --all "$dir/each" "$dir/text/metadata.csv" slt,kal16 2
[ "$(cut -d'|' -f1,4 "$dir/each/metadata.csv" | sed -n '2,3p' | tr '\n' ' ')" = "a-1-kal16|kal16 a-2-slt|slt " ]
verdict flite_corpus_gives_each_an_id $?
ends_with flite_corpus_refuses_a_voice_that_is_not_there 3 tools/flite_corpus.sh "$dir/x" "$dir/text/metadata.csv" nobody
ends_with borders_are_what_was_put_in 0 bench/borders --self-check

# ---- tools/voice.sh with a stand-in: three checkpoints, the middle one resumed from the first ----
mkdir -p "$dir/build/bench"
cat >"$dir/build/myxtts" <<'END'
#!/usr/bin/env bash
what=$1 speaker=slt
echo "$*" >>"$STAND_IN_LOG"
while [ $# -gt 0 ]; do
    case $1 in
    --checkpoint-dir) run=$2 ;;
    --lines) lines=$2 ;;
    --output-dir) to=$2 ;;
    --speaker) speaker=$2 ;;
    esac
    shift
done
if [ "$what" = train ]; then
    mkdir -p "$run"
    touch "$run"/step-00000100.safetensors "$run"/step-00000200.safetensors "$run"/step-00000300.safetensors
    printf '%s\n' '{"event":"start","step":0}' '{"event":"step","step":100,"seconds":60.5}' '{"event":"step","step":150,"seconds":90}' \
        '{"event":"resume","step":100}' '{"event":"step","step":200,"seconds":120,"step_times_ms":[1,2]}' '{"event":"end","step":300}' >"$run/log.jsonl"
else
    n=0
    while IFS= read -r _; do
        n=$((n + 1))
        cp "$STAND_IN_CLIPS/$speaker/$(printf %02d $n).wav" "$to"
    done <"$lines"
fi
END
chmod +x "$dir/build/myxtts"
printf 'Please open the large window.\nHave you seen my blue jacket anywhere?\nWe should call your mother tonight and tell her the good news.\n' >"$dir/three.txt"
export STAND_IN_LOG=$dir/calls STAND_IN_CLIPS=$dir/voice/reference VOICE_BUILD=$dir/build VOICE_OUT=$dir/voice VOICE_DATA=$dir/text VOICE_TEXT=$dir/three.txt
export VOICE_LINES=2 VOICE_CHARS=0 VOICE_CURVE=1 VOICE_MINUTES=5 VOICE_SIZE=nano VOICE_MOST=2
ends_with voice_makes_the_corpus 0 tools/voice.sh corpus
[ "$(wc -l <"$dir/voice/training/data/metadata.csv")" = 2 ] && cmp -s "$dir/three.txt" "$dir/voice/sentences.txt" && [ -s "$dir/voice/reference/slt/03.wav" ]
verdict voice_has_corpus_sentences_and_reference $?
ends_with voice_trains_and_speaks 0 tools/voice.sh train speak
grep -q -- '--model-size nano --minutes 5' "$dir/calls" && grep -q -- '--checkpoint [^ ]*step-00000300.safetensors --lines [^ ]*sentences.txt' "$dir/calls"
verdict voice_speaks_with_the_last_checkpoint $?
[ "$(cd "$dir/voice/spoken" && echo minutes-*/slt/*)" = "minutes-1.0/slt/01.wav minutes-3.0/slt/01.wav" ]
verdict voice_knows_the_minutes_of_checkpoints $?
ends_with voice_goes_on_with_the_same_settings 0 tools/voice.sh train
ends_with voice_refuses_other_settings_for_the_run 2 env VOICE_SIZE=tiny tools/voice.sh train

# ---- the judge ----
if [ ! -x "$voice" ]; then
    echo "skip voice_judge SKIPPED: $voice was not built"
    exit $failed
fi
ln -s "$voice" "$dir/build/bench/voice"
ends_with judge_needs_a_folder 2 "$voice"
ends_with judge_without_a_recogniser_says_so 3 env MYXTTS_POCKETSPHINX_LIBRARY="$dir/nothing.so" tools/voice.sh judge
log_has judge_says_how_to_judge_elsewhere 'copy it'
if ! "$voice" --check 2>/dev/null; then
    echo "skip voice_judge SKIPPED: there is no recogniser"
    exit $failed
fi
ends_with judge_finds_recordings_well 0 tools/voice.sh judge
log_has judge_counts_the_words '^  slt +3 +24 '
log_has judge_prints_the_curve '^ +3\.0 min +1 +5 '
grep -q '"passed":true' "$dir/voice/judge.json" && [ -s "$dir/voice/griffin-lim/slt/03.wav" ]
verdict judge_leaves_report_and_clips $?
mv "$dir/voice/spoken/slt/01.wav" "$dir/x.wav"
mv "$dir/voice/spoken/slt/03.wav" "$dir/voice/spoken/slt/01.wav"
ends_with judge_misses_a_clip 3 tools/voice.sh judge
log_has judge_names_the_missing_clip 'spoken/slt/03.wav'
mv "$dir/x.wav" "$dir/voice/spoken/slt/03.wav"
ends_with judge_fails_shuffled_clips 1 tools/voice.sh judge
log_has judge_says_too_many 'TOO MANY'
rm -r "$dir/voice/reference"
ends_with judge_without_reference_judges_the_voice 0 "$voice" --out "$dir/voice" --heard
log_has judge_prints_what_was_heard 'said +Please open the large window'
exit $failed
