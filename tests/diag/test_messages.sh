#!/usr/bin/env bash
# The language of findings and reports: chosen by the environment or --messages; JSON and errors stay English unless asked for.
set -u
bin=${MYXTTS_BIN:-build/myxtts}
. tests/support/shell.sh
if [ ! -x "$bin" ]; then
    echo "skip messages SKIPPED: $bin was not built"
    exit 0
fi
corpus=(--data-path tests/data/ljspeech --cache-dir "$dir/cache" --val-split 0 --batch-size 2)
report=(diagnose "${corpus[@]}" --data-gpu sim0 --model-gpu sim1 --sim "decode_ms=60,step_ms=10" --num-workers 2 --num-batches 40)
persian() { env -u LC_ALL -u LC_MESSAGES LANG=fa_IR.UTF-8 "$@"; }
has_persian() { grep -qP '[\x{0600}-\x{06FF}]' "$1"; }

persian "$bin" "${report[@]}" >"$dir/log" 2>&1
log_has a_report_in_persian '^نظر پزشک$'
log_has with_its_findings 'دستگاه مدل .*منتظر است'
grep -qP '\x{2068}[\x{06F0}-\x{06F9}\x{066B}]+\x{2069} میلی' "$dir/log"
verdict numbers_are_isolated $?
log_lacks and_no_english_sentence 'the model device waits|throughput after'
persian "$bin" "${report[@]}" --messages en >"$dir/log" 2>&1
log_has the_option_counts_more '^VERDICT$'
! has_persian "$dir/log"
verdict and_nothing_is_persian $?
"$bin" "${report[@]}" --messages fa >"$dir/log" 2>&1
log_has persian_wherever_one_is '^نظر پزشک$'

persian "$bin" "${report[@]}" --json >"$dir/en.json" 2>"$dir/log"
! has_persian "$dir/en.json"
verdict json_is_english $?
"$bin" "${report[@]}" --json --messages fa >"$dir/fa.json" 2>"$dir/log"
has_persian "$dir/fa.json"
verdict json_in_persian_when_asked_for $?
python3 - "$dir/en.json" "$dir/fa.json" >"$dir/log" 2>&1 <<'P'
import json, sys


def keys(v):
    if isinstance(v, dict):
        return {k: keys(x) for k, x in v.items()}
    return "list" if isinstance(v, list) else "value"


a, b = (json.load(open(p)) for p in sys.argv[1:3])
assert keys(a) == keys(b), (keys(a), keys(b))
for k in ("bottleneck", "cause", "verdict_status"):
    assert a[k] == b[k], (k, a[k], b[k])
assert [s["name"] for s in a["sections"]] == [s["name"] for s in b["sections"]]
P
verdict keys_and_codes_do_not_change $?

persian "$bin" info tests/data/ljspeech --cache-dir "$dir/cache" >"$dir/log" 2>&1
log_has recordings_in_persian 'کلیپ برای یاد گرفتن'
printf 'data:\n  num_workers: 99\n  num_worker: 1\n' >"$dir/c.yaml"
persian "$bin" validate "${corpus[@]}" --config "$dir/c.yaml" >"$dir/log" 2>&1
log_has settings_are_checked_in_persian '^ +چرا +تا این درست نشود'
sed -i '/num_worker:/d' "$dir/c.yaml"
persian "$bin" validate "${corpus[@]}" --config "$dir/c.yaml" --fix >"$dir/log" 2>&1
log_has and_mended 'تغییر کرد؛ فایل پیشین اکنون'
log_has with_their_counts 'خطا، .*هشدار، .*تذکر$'
log_lacks and_nothing_in_english '^ *(error|warning|note|now|why|fix) '
persian "$bin" validate "${corpus[@]}" --config "$dir/c.yaml" --json >"$dir/en.json" 2>"$dir/log"
! has_persian "$dir/en.json"
verdict json_of_validate_is_english $?
ends_with errors_are_english 2 persian "$bin" diagnose --no-such-option
log_has as_they_were 'no-such-option'
ends_with another_language_is_refused 2 "$bin" info tests/data/ljspeech --messages de
log_has with_what_there_is "--messages is 'de', but must be en or fa"
exit $failed
