#!/usr/bin/env bash
# Where commands write: a symbolic link is followed, and what a signal ends leaves no temporary file.
set -u
bin=${MYXTTS_BIN:-build/myxtts}
. tests/support/shell.sh
if [ ! -x "$bin" ]; then
    echo "skip outputs SKIPPED: $bin was not built"
    exit 0
fi
synth=("$bin" synth --model-gpu cpu --checkpoint tests/golden/checkpoint.safetensors --vocoder griffin_lim --iterations 1)

# ---- symbolic links ----
mkdir -p "$dir/there" "$dir/links"
ln -s ../there/new.wav "$dir/links/relative.wav"
ln -s "$dir/there/old.wav" "$dir/links/absolute.wav"
ln -s absolute.wav "$dir/links/twice.wav"
ends_with a_link_to_nothing_is_an_output 0 "${synth[@]}" --text "Yes." --output "$dir/links/relative.wav"
[ -L "$dir/links/relative.wav" ] && [ "$(head -c 4 "$dir/there/new.wav")" = RIFF ]
verdict a_relative_link_is_followed $?
cp "$dir/there/new.wav" "$dir/there/old.wav"
ends_with a_link_to_a_link_is_an_output 0 "${synth[@]}" --text "No. Not at all." --output "$dir/links/twice.wav"
[ -L "$dir/links/twice.wav" ] && [ -L "$dir/links/absolute.wav" ] && ! cmp -s "$dir/there/old.wav" "$dir/there/new.wav"
verdict a_link_to_a_link_is_followed $?

# ---- signals ----
tools/long_text.sh 3000 30 >"$dir/text"
for signal in TERM INT HUP; do
    rm -rf "$dir/half"
    mkdir "$dir/half"
    # A shell has programs in the background ignore Ctrl-C; env --default-signal undoes that.
    env --default-signal=INT "${synth[@]}" --text-file "$dir/text" --output "$dir/half/x.wav" >"$dir/log" 2>&1 &
    pid=$!
    while kill -0 $pid 2>/dev/null && [ -z "$(ls "$dir/half")" ]; do sleep 0.02; done
    begun=$(ls "$dir/half")
    kill -$signal $pid 2>/dev/null
    { wait $pid; } 2>/dev/null
    [ $? = $((128 + $(kill -l $signal))) ] && [ -n "$begun" ] && [ -z "$(ls "$dir/half")" ]
    verdict "SIG${signal}_leaves_nothing_half_written" $?
done
exit $failed
