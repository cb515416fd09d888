#!/usr/bin/env bash
# tools/base.sh: flite's voices, or corpora of people, become one file that holds a voice and a vocoder, and that another voice begins with.
# The networks are tiny and make a few steps: whether a base helps is for docs/MODEL.md.
set -u
out=${MYXTTS_OUT:-build}
. tests/support/shell.sh
small="--max-steps 2 --batch-size 4 --text-encoder-dim 16 --text-encoder-layers 1 --text-encoder-heads 2 --audio-encoder-dim 16
    --audio-encoder-layers 1 --audio-encoder-heads 2 --decoder-dim 16 --decoder-layers 1 --decoder-heads 2 --speaker-embedding-dim 8
    --gst-num-heads 2 --predictor-dim 16 --vocoder-dim 16 --vocoder-layers 1 --listen-clips 0 --text2audio-interval-steps 0 --model-gpu cpu
    --data-gpu cpu"
base() { env BASE_BUILD="$out" BASE_MINUTES=0 BASE_OPTIONS="$small" BASE_OUT="$dir/${made_in:-flite}/base.safetensors" "$@" tools/base.sh; }
info() { "$out/myxtts" info --checkpoint "$1" --json; }

ends_with refuses_an_unknown_stage 2 tools/base.sh sing
ends_with refuses_another_size 2 env BASE_SIZE=huge tools/base.sh
ends_with refuses_another_ending 2 env BASE_OUT="$dir/base.bin" tools/base.sh
ends_with people_need_a_licence 2 env BASE_DATA="$dir" tools/base.sh
log_has and_says_so "BASE_LICENCE has to say"
ends_with misses_a_corpus 3 env BASE_DATA="$dir/nowhere" BASE_LICENCE=x BASE_OUT="$dir/x/x.safetensors" tools/base.sh corpus
if ! command -v "${FLITE:-flite}" >/dev/null || [ ! -x "$out/myxtts" ]; then
    echo "skip base_tool SKIPPED: there is no flite, or no $out/myxtts"
    exit $failed
fi

# ---- flite's voices ----
ends_with makes_a_base_of_flite 0 base BASE_TEXT="$dir/nowhere" BASE_LINES=20
log_has sentences_of_its_own_where_there_is_no_text "flite speaks sentences of tools/demo_text.sh"
info "$dir/flite/base.safetensors" >"$dir/log"
log_has it_says_whose_voices "Carnegie Mellon University"
log_has it_has_a_vocoder '"vocoder": \{'
for v in slt rms awb kal16; do log_has "has_the_voice_$v" "\"$v\""; done
log_has the_sound_of_people '"sample_rate": 22050'

# ---- people ----
for who in anna otto; do
    mkdir -p "$dir/$who"
    cp -r "$dir/flite/training/data/wavs" "$dir/$who/wavs"
done
awk -F'|' -v OFS='|' 'NR <= 8 { print $1, $2 }' "$dir/flite/training/data/metadata.csv" >"$dir/anna/metadata.csv"
awk -F'|' -v OFS='|' 'NR > 8 { print $1, $2, $3, NR % 2 ? "1" : "2" }' "$dir/flite/training/data/metadata.csv" >"$dir/otto/metadata.csv"
made_in=people
ends_with makes_a_base_of_people 0 base BASE_DATA="$dir/anna,$dir/otto/" BASE_LANGUAGES=en,de BASE_LICENCE=CC0-1.0
cut -d'|' -f3,4 "$dir/people/training/data/metadata.csv" | sort -u | tr '\n' ' ' >"$dir/log"
log_has speakers_and_languages_are_columns '^anna\|en otto-1\|de otto-2\|de speaker\|language $'
info "$dir/people/base.safetensors" >"$dir/log"
log_has it_has_the_licence 'CC0-1.0'
log_has it_has_all_speakers 'otto-2'

# ---- a voice that begins with it ----
ends_with a_voice_begins_with_it 0 "$out/myxtts" train --network both --init-from "$dir/flite/base.safetensors" --data-path "$dir/anna" \
    --checkpoint-dir "$dir/voice" --max-steps 2 --batch-size 4 --listen-clips 0 --text2audio-interval-steps 0 --model-gpu cpu --data-gpu cpu
log_has with_the_weights_of_both "vocoder/|starting with the weights of"
info "$dir/voice" >"$dir/log"
log_has and_carries_its_licence "Carnegie Mellon University"
exit $failed
