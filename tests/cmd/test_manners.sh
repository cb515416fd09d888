#!/usr/bin/env bash
# How the program speaks to somebody who is new: help, names that are nearly right, one clip that is not "1 clips", sentences for data that
# cannot be trained on.
set -u
bin=${MYXTTS_BIN:-build/myxtts}
. tests/support/shell.sh
if [ ! -x "$bin" ]; then
    echo "skip manners SKIPPED: $bin was not built"
    exit 0
fi
bin=$(realpath "$bin")
clips=tests/data/ljspeech

# ---- help ----
commands=$("$bin" help | awk '/^  [a-z]+ / { print $1 }')
[ "$(wc -w <<<"$commands")" -ge 15 ]
verdict help_lists_the_commands $?
bad=
for c in $commands; do
    cmp -s <("$bin" help "$c") <("$bin" "$c" --help) || bad="$bad $c"
    "$bin" "$c" --help | grep -q "^usage: myxtts $c" || bad="$bad $c(usage)"
    [ -z "$("$bin" "$c" --help | grep -oE '^  --[a-z-]+' | sort | uniq -d)" ] || bad="$bad $c(twice)"
done
echo "wrong:$bad" >"$dir/log"
[ -z "$bad" ]
verdict help_command_is_command_help $?
ends_with an_unknown_command_is_wrong_use 2 "$bin" trian
log_has it_is_asked_what_was_meant "did you mean 'train'"
log_lacks nothing_else_is_listed 'phonemize'
ends_with help_of_an_unknown_command 2 "$bin" help synht
log_has it_is_asked_there_too "did you mean 'synth'"
ends_with compare_of_nothing 2 "$bin" compare
log_has it_is_good_english 'missing: two runs'
ends_with no_command_at_all 2 "$bin"

# ---- one is not many ----
one=$dir/one
mkdir -p "$one/wavs"
head -1 $clips/metadata.csv >"$one/metadata.csv"
cp "$clips/wavs/$(cut -d'|' -f1 "$one/metadata.csv").wav" "$one/wavs"
nano=(--model-size nano --model-gpu cpu --batch-size 1 --listen-clips 0 --text2audio-interval-steps 0)
many='(^|[^0-9.,x])1 (clips|lines|speakers|steps|buckets|records|files|words)([^a-z]|$)'
for c in info prepare "validate ${nano[*]}" "train ${nano[*]} --max-steps 1 --checkpoint-dir $dir/run"; do
    # shellcheck disable=SC2086
    "$bin" $c --data-path "$one" >"$dir/log" 2>&1
    log_lacks "one_clip_in_${c%% *}" "$many"
done
echo "One line." >"$dir/lines"
ends_with one_line_is_spoken 0 "$bin" synth --model-gpu cpu --checkpoint "$dir/run" --lines "$dir/lines" --output-dir "$dir/spoken"
log_lacks one_line_in_synth "$many"
ends_with one_clip_is_aligned 0 "$bin" align --model-gpu cpu --checkpoint "$dir/run" --data-path "$one" --output "$dir/aligned"
log_lacks one_clip_in_align "$many"
for c in "eval --checkpoint $dir/run --clips 1" "diagnose $dir/run" "train ${nano[*]} --max-steps 2 --checkpoint-dir $dir/run"; do
    # shellcheck disable=SC2086
    "$bin" $c --data-path "$one" >"$dir/log" 2>&1
    [ "$(grep -c '^device: ' "$dir/log")" -le 1 ]
    verdict "the_device_is_named_once_in_${c%% *}" $?
done

# ---- data that cannot be trained on ----
mkdir -p "$dir/empty"
: >"$dir/empty/metadata.csv"
for c in info prepare train; do
    ends_with "${c}_of_no_line" 3 "$bin" $c --data-path "$dir/empty" --cache-dir "$dir/c"
    log_has "${c}_says_that_it_is_empty" 'metadata.csv is empty'
done
echo 'id|text' >"$dir/empty/metadata.csv"
ends_with a_header_alone 3 "$bin" prepare --data-path "$dir/empty" --cache-dir "$dir/c"
log_has it_is_told_from_an_empty_file 'has only a header line'
for c in prepare train; do
    ends_with "${c}_in_no_language" 3 "$bin" $c --data-path "$one" --cache-dir "$dir/c" --language xx
    log_has "${c}_names_the_language" "no voice 'xx'.*language 'xx'"
done
ends_with the_only_text_is_not_held_out 0 "$bin" train --data-path "$one" "${nano[@]}" --val-split 0.9 --seed 3 --max-steps 1 --checkpoint-dir "$dir/held"
cp "$one/metadata.csv" "$one/eval.csv"
echo 'nothing|There is no such clip.' >"$one/train.csv"
ends_with everything_is_held_out 3 "$bin" train --data-path "$one" --metadata-train-file train.csv --metadata-eval-file eval.csv "${nano[@]}" --checkpoint-dir "$dir/held2"
log_has it_names_val_split 'left to train on: val_split 0.05'
ends_with a_speaker_without_a_name 3 "$bin" synth --model-gpu cpu --checkpoint "$dir/run" --text Hi --speaker bob --output "$dir/x.wav"
log_has it_says_that_there_is_no_name 'no name: omit --speaker'
{ # 91 s of silence
    printf 'RIFF\x24\x09\x3d\x00'
    head -c 40 "$clips/wavs/$(cut -d'|' -f1 "$one/metadata.csv").wav" | tail -c 32
    printf '\x00\x09\x3d\x00'
    head -c 4000000 /dev/zero
} >"$dir/long.wav"
ends_with a_reference_that_is_too_long 3 "$bin" synth --model-gpu cpu --checkpoint "$dir/run" --text Hi --reference "$dir/long.wav" --output "$dir/x.wav"
log_has it_says_what_is_enough 'too long for a reference.*60 s'

# ---- limits ----
(ulimit -v 120000 && timeout 20 "$bin" synth --model-gpu cpu --checkpoint "$dir/run" --text Hi --output "$dir/x.wav") >"$dir/log" 2>&1
[ $? = 3 ] && grep -qi 'memory' "$dir/log"
verdict a_small_address_space_is_said $?
(ulimit -v 600000 && timeout 20 "$bin" train --data-path "$one" "${nano[@]}" --max-steps 1 --checkpoint-dir "$dir/small") >"$dir/log" 2>&1
[ $? = 3 ] && grep -q 'the smallest training needs' "$dir/log"
verdict too_small_to_train_in_is_said $?
(ulimit -f 16 && timeout 20 "$bin" mel "$clips/wavs/$(cut -d'|' -f1 "$one/metadata.csv").wav" --output "$dir/limited.npy") >"$dir/log" 2>&1
[ $? = 3 ] && grep -q 'File too large' "$dir/log" && [ ! -e "$dir/limited.npy" ]
verdict a_limit_of_files_is_as_a_full_disk $?
(ulimit -f 200 && timeout 60 "$bin" prepare --data-path "$clips" --cache-dir "$dir/limited") >"$dir/log" 2>&1
[ $? = 3 ] && grep -q 'cannot write .*File too large' "$dir/log" && ! grep -qE 'phonemiser|rejected [1-9]' "$dir/log"
verdict nor_does_it_cost_clips $?

# ---- the demo's commands can be typed as they are printed ----
eval "$(sed -n '/^quoted()/,/^}/p' tools/demo.sh)"
[ "$(eval "printf '%s,'$(quoted a "two words" "it's" '$x' '')")" = "a,two words,it's,\$x,," ]
verdict the_demo_quotes_what_it_runs $?
exit $failed
