#!/usr/bin/env bash
# `myxtts serve --record`: its lists of sentences and the script that chooses them, and the page in a headless Chromium
# (tests/page/test_record.py) whose microphone hears a recording.
#   tests/serve/test_record.sh
#   tests/serve/test_record.sh --pictures FOLDER    only makes FOLDER/record.png
set -u
bin=${MYXTTS_BIN:-build/myxtts}
. tests/support/shell.sh
# shellcheck disable=SC2154 # shell.sh sets it
trap 'rm -rf "$dir"' EXIT
if [ ! -x "$bin" ] || ! command -v python3 >/dev/null; then
    echo "skip record SKIPPED: $bin was not built, or there is no python3"
    exit 0
fi
bin=$(realpath "$bin")
if [ "${1:-}" = --pictures ]; then
    python3 tests/page/test_record.py "$bin" "$dir" "$2"
    exit
fi

# ---- the lists ----
for list in src/serve/sentences/*.txt; do
    language=$(basename "$list" .txt)
    grep -v '^#' "$list" >"$dir/list"
    n=$(wc -l <"$dir/list")
    [ "$n" -ge 80 ] && [ "$(sort -u "$dir/list" | wc -l)" = "$n" ] && ! grep -qP '[0-9\x{06F0}-\x{06F9}]|^\s|\s$' "$dir/list"
    verdict "the_list_of_${language}_is_clean" $?
done
ends_with a_language_without_a_list_is_told 2 "$bin" serve --record "$dir/none" --language ko --listen 127.0.0.1:0
log_has and_what_to_do 'no built-in list of sentences for the language ko, only for en, de, fa'
log_has and_which_option 'use --sentences FILE'
ends_with sentences_need_a_folder 2 "$bin" serve --sentences "$dir/list" --runs "$dir"
printf 'good\nbad \001 line\n' >"$dir/odd"
ends_with a_line_that_is_no_sentence_is_told 3 "$bin" serve --record "$dir/none" --sentences "$dir/odd" --listen 127.0.0.1:0
log_has with_its_number 'line 2: a control character'

# ---- the script: the richer sentence first, what is hard to read not at all, rare sounds only when asked for ----
cat >"$dir/text" <<'TEXT'
The the the the cat.
The cat sat on the mat.
Please bring the green jacket and a warm blanket.
He came in 1914 with (two) men.
Too short.
and this begins in the middle of it.
TEXT
MYXTTS_BIN=$bin RARE=1 tools/rich_sentences.sh en 2 <"$dir/text" >"$dir/chosen" 2>"$dir/log"
verdict sentences_are_chosen $?
[ "$(cat "$dir/chosen")" = "$(printf '%s\n' 'Please bring the green jacket and a warm blanket.' 'The cat sat on the mat.')" ]
verdict the_richest_first $?
log_has and_it_is_counted '^2 sentences of 3 have [0-9]+ of [0-9]+ pairs'

# ---- the page ----
if [ -z "$(command -v chromium || command -v chromium-browser || command -v google-chrome)" ]; then
    echo "skip record_page SKIPPED: there is no chromium (Debian: apt-get install chromium)"
    exit "$failed"
fi
python3 tests/page/test_record.py "$bin" "$dir" || failed=1
exit "$failed"
