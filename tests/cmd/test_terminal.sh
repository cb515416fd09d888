#!/usr/bin/env bash
# What is in other people's files does not reach the terminal as control sequences: ids and texts of a dataset with escape sequences,
# shown by info and prepare in a terminal, on stdout and stderr.
set -u
out=${MYXTTS_OUT:-build}
bin=$out/myxtts
. tests/support/shell.sh
if [ ! -x "$bin" ]; then
    echo "skip terminal SKIPPED: $bin was not built"
    exit 0
fi
if ! command -v script >/dev/null || ! timeout 20 script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    echo "skip terminal SKIPPED: no pseudo-terminal can be made here"
    exit 0
fi
mkdir -p "$dir/data/wavs"
cp tests/data/ljspeech/wavs/LJ001-0008.wav "$dir/data/wavs/"
esc=$'\033' bell=$'\a'
# A text that sets the title, an id that clears the screen, a C1 control sequence in the text.
printf 'LJ001-0008|has never been \302\2332J surpassed%s]0;gotcha%s.\nno%s[2Jthing|a text\n' "$esc" "$bell" "$esc" >"$dir/data/metadata.csv"
in_terminal() { timeout 30 script -qec "$*" /dev/null >"$dir/log" 2>&1 </dev/null; }
tame() { # name: nothing but the program's own sequence for its progress line is in the log
    sed 's/\x1b\[K//g' "$dir/log" | LC_ALL=C grep -qP '\x1b|\x07|\xc2[\x80-\x9f]'
    [ $? = 1 ]
    verdict "$1" $?
}
in_terminal "$bin" prepare --data-path "$dir/data" --cache-dir "$dir/cache" --num-workers 0
grep -q 'prepared' "$dir/log" && tame terminal_prepare
in_terminal "$bin" info --data-path "$dir/data"
grep -q 'no?\[2Jthing' "$dir/log"
verdict terminal_info_names_the_id $?
tame terminal_info
in_terminal "$bin" inspect "$dir/cache" --id LJ001-0008
tame terminal_inspect
in_terminal "$bin" mel "'$dir/no${esc}[2J'"
grep -q 'error' "$dir/log" && tame terminal_error
in_terminal "$bin" mel tests/data/ljspeech/wavs/LJ001-0008.wav
grep -q $'\033\[38;2;' "$dir/log"
verdict terminal_draws_in_colour $?
# In a terminal export asks for what it has not been told, and keeps the answer without the blanks around it. The base has a licence.
{
    sleep 1
    printf '  Ada, 2026 \n'
} | timeout 30 script -qec "'$bin' export --checkpoint bases/english-nano.safetensors --output '$dir/voice.safetensors'" /dev/null >"$dir/log" 2>&1
grep -q 'Whose recordings' "$dir/log"
verdict terminal_export_asks $?
"$bin" info --checkpoint "$dir/voice.safetensors" >"$dir/log" 2>&1
grep -q 'source     Ada, 2026$' "$dir/log"
verdict terminal_export_keeps_the_answer $?
# A pipe gets the bytes as they are.
"$bin" info --data-path "$dir/data" >"$dir/log" 2>&1
grep -qF "no${esc}[2Jthing" "$dir/log"
verdict terminal_pipe_is_untouched $?
exit $failed
