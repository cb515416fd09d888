#!/usr/bin/env bash
# The pages in the browser (headless Chromium, driven over the DevTools protocol by tests/page/test_page.py), and path tricks against the
# trainings that the server shows.
#   tests/page/test_page.sh
#   tests/page/test_page.sh --pictures FOLDER VOICE RUNS [CHOICE]    only makes the pictures of docs/, with a voice and trainings that are worth
#                                                               seeing; CHOICE: "run=A&with=B"
set -u
bin=${MYXTTS_BIN:-build/myxtts}
. tests/support/shell.sh
servers=()
# shellcheck disable=SC2154 # shell.sh sets it
trap 'for p in "${servers[@]:-}"; do [ -z "$p" ] || kill "$p" 2>/dev/null; done; wait 2>/dev/null; rm -rf "$dir"' EXIT
if [ -z "$(command -v chromium || command -v chromium-browser || command -v google-chrome)" ]; then
    echo "skip page SKIPPED: there is no chromium (Debian: apt-get install chromium)"
    exit 0
fi
if [ ! -x "$bin" ] || ! command -v python3 >/dev/null; then
    echo "skip page SKIPPED: $bin was not built, or there is no python3"
    exit 0
fi
bin=$(realpath "$bin")

serve() { # log, arguments...: sets $address
    local log=$1
    shift
    "$bin" serve --listen 127.0.0.1:0 --model-gpu cpu "$@" >"$log" 2>&1 &
    servers+=($!)
    for _ in $(seq 200); do
        address=$(grep -aoE 'http://127\.0\.0\.1:[0-9]+' "$log" | head -1)
        [ -z "$address" ] || return 0
        kill -0 "${servers[-1]}" 2>/dev/null || break
        sleep 0.1
    done
    cat "$log"
    return 1
}

if [ "${1:-}" = --pictures ]; then
    serve "$dir/serve.log" --checkpoint "$3" --runs "$4" && python3 tests/page/pictures.py "$address" "$2" "$dir" "${5:-}"
    exit
fi

# ---- a voice that knows next to nothing, and two trainings ----
awk -F'|' -v OFS='|' '{ print $1, $2, $3, NR % 2 ? "anna" : "ben" }' tests/data/ljspeech/metadata.csv >"$dir/metadata.csv"
ln -s "$PWD/tests/data/ljspeech/wavs" "$dir/wavs"
runs=$dir/runs
ends_with a_training 0 "$bin" train --data-path "$dir" --cache-dir "$dir/cache" --checkpoint-dir "$runs/one" --model-size nano --model-gpu cpu \
    --batch-size 2 --max-steps 40 --val-split 0.3 --val-step 20 --log-step 5 --listen-clips 0 --text2audio-interval-steps 20 \
    --text2audio-texts 'Three small birds.|A red house.'
tail -1 "$runs/one/log.jsonl" >"$dir/log"
log_has its_log_has_the_verdict '"event":"verdict","step":40,"text":"[^"]+'
mkdir "$runs/two" && cp -r "$runs/one"/{log.jsonl,samples,loss.png,mel.png,alignment.png} "$runs/two/"
sed -i 's/"learning_rate":"[^"]*"/"learning_rate":"0.5"/; s/"loss":\([0-9]\)/"loss":1\1/' "$runs/two/log.jsonl"
recordings=("$dir/wavs"/*.wav)
cp "${recordings[0]}" "$dir/reference.wav"
head -c 24 /dev/urandom | base64 >"$dir/token"

if ! serve "$dir/token.log" --checkpoint "$runs/one" --runs "$runs" --token-file "$dir/token"; then
    echo "not ok a_server_with_a_token"
    exit 1
fi
token_address=$address
if ! serve "$dir/serve.log" --checkpoint "$runs/one" --runs "$runs"; then
    echo "not ok a_server"
    exit 1
fi

# ---- path tricks: nothing but 400 or 404, and not a byte of what is not shown ----
echo "secret beside the trainings" | tee "$dir/secret.json" >"$runs/one/notes.json.txt"
ln -s "$dir/secret.json" "$runs/one/link.json"
ln -s "$dir" "$runs/up"
mkfifo "$runs/one/pipe.json"
python3 tests/page/tricks.py "$address" "$token_address" || failed=1
rm -f "$runs/up" "$runs/one/link.json" "$runs/one/pipe.json"

# ---- in the browser ----
python3 tests/page/test_page.py "$address" "$token_address" "$(cat "$dir/token")" "$runs" "$dir" || failed=1

# ---- the end ----
ends=0
for p in "${servers[@]}"; do
    kill "$p"
    wait "$p" || ends=$?
done
servers=()
[ $ends = 0 ] && ! grep -aiE 'sanitizer|assert|error' "$dir/serve.log" "$dir/token.log" >"$dir/log"
verdict the_servers_end_well $?
exit $failed
