#!/usr/bin/env bash
# Folders of other people and other machines: caches that can only be read, names whose letters are put together otherwise, a language
# that nobody speaks.
set -u
bin=${MYXTTS_BIN:-build/myxtts}
. tests/support/shell.sh
if [ ! -x "$bin" ]; then
    echo "skip strange_folders SKIPPED: $bin was not built"
    exit 0
fi
bin=$(realpath "$bin")
chmod 755 "$dir"
data=$dir/data
mkdir -p "$data/wavs"
head -n 3 tests/data/ljspeech/metadata.csv >"$data/metadata.csv"
for id in $(cut -d'|' -f1 "$data/metadata.csv"); do cp "tests/data/ljspeech/wavs/$id.wav" "$data/wavs/"; done
chmod -R a+rX "$data"

# ---- caches of another user ----
stranger=()
if [ "$(id -u)" = 0 ]; then
    stranger=(setpriv --reuid 65534 --regid 65534 --clear-groups)
fi
if "${stranger[@]}" test -x "$bin" 2>/dev/null; then
    ends_with caches_are_prepared 0 "$bin" prepare --data-path "$data"
    chmod -R a+rX,a-w "$data"
    before=$(cd "$data" && find . | sort)
    mkdir -m 777 "$dir/his"
    ends_with a_stranger_trains_with_them 0 "${stranger[@]}" "$bin" train --data-path "$data" --checkpoint-dir "$dir/his/run" \
        --model-size nano --model-gpu cpu --batch-size 2 --max-steps 1 --val-split 0 --listen-clips 0
    ends_with a_stranger_may_prepare_what_is_prepared 0 "${stranger[@]}" "$bin" prepare --data-path "$data"
    ends_with what_is_missing_cannot_be_made 3 "${stranger[@]}" "$bin" prepare --data-path "$data" --sample-rate 16000
    log_has it_says_what_is_missing 'cannot write to the cache folder .*, whose mel cache lacks 3 of 3 clips'
    log_has it_names_another_place '--cache-dir'
    [ "$(cd "$data" && find . | sort)" = "$before" ]
    verdict nothing_was_written $?
    chmod -R u+w "$data"
else
    echo "skip caches_of_another_user SKIPPED: nobody else can be started here"
fi

# ---- one letter or two ----
o=$(printf '\xc3\xb6') apart=$(printf 'o\xcc\x88')
mkdir -p "$dir/forms/wavs"
i=0
while IFS='|' read -r id text _; do
    i=$((i + 1))
    case $i in
        1) echo "h${o}r$i|$text" && cp "$data/wavs/$id.wav" "$dir/forms/wavs/h${apart}r$i.wav" ;;
        2) echo "h${apart}r$i|$text" && cp "$data/wavs/$id.wav" "$dir/forms/wavs/h${o}r$i.wav" ;;
        *) echo "h${o}r$i|$text" && cp "$data/wavs/$id.wav" "$dir/forms/wavs/h${o}r$i.wav" ;;
    esac
done <"$data/metadata.csv" >"$dir/forms/metadata.csv"
ends_with names_in_both_forms_are_found 0 "$bin" prepare --data-path "$dir/forms" --cache-dir "$dir/forms-cache"
log_has all_of_them 'accepted 3, rejected 0'

# ---- a telephone ----
rates() { # rate: the clips as if recorded with it
    mkdir -p "$dir/rate$1/wavs"
    cp "$data/metadata.csv" "$dir/rate$1/"
    for f in "$data"/wavs/*.wav; do
        { head -c 24 "$f" && printf "\\x$(printf %02x $(($1 % 256)))\\x$(printf %02x $(($1 / 256)))\\0\\0" && tail -c +29 "$f"; } >"$dir/rate$1/wavs/${f##*/}"
    done
}
for rate in 4000 8000; do
    rates $rate
    ends_with "recordings_of_${rate}_hertz_are_a_finding" 1 "$bin" prepare --data-path "$dir/rate$rate"
    log_has "it_says_up_to_where_they_go_$rate" "no sound above $([ $rate = 4000 ] && echo '(1[89]..|2000)' || echo '(3[89]..|4000)') Hz"
done

# ---- no language ----
ends_with a_language_that_nobody_speaks 3 "$bin" prepare --data-path "$data" --cache-dir "$dir/none/cache" --language xx
log_has it_is_named "no voice 'xx' for the language 'xx'"
[ ! -e "$dir/none" ]
verdict no_cache_is_left $?
exit $failed
