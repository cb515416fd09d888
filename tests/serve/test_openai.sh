#!/usr/bin/env bash
# OpenAI's own Python client, unchanged but for the address, speaks through `myxtts serve`: speech whole, streamed and as events, models,
# and errors as the exceptions that it has for them.
set -u
bin=${MYXTTS_BIN:-build/myxtts}
python=${MYXTTS_CLIENTS:-build/clients}/bin/python
. tests/support/shell.sh
if [ ! -x "$bin" ]; then
    echo "skip openai SKIPPED: $bin was not built"
    exit 0
fi
if ! "$python" -c 'import openai' 2>/dev/null; then
    echo "skip openai SKIPPED: the Python package openai is not in build/clients (tools/deps.sh tests puts it there)"
    exit 0
fi
awk -F'|' -v OFS='|' '{ print $1, $2, $3, NR % 2 ? "anna" : "ben" }' tests/data/ljspeech/metadata.csv >"$dir/metadata.csv"
ln -s "$PWD/tests/data/ljspeech/wavs" "$dir/wavs"
ends_with a_voice_of_two_steps 0 "$bin" train --data-path "$dir" --cache-dir "$dir/cache" --checkpoint-dir "$dir/run" --model-size nano \
    --model-gpu cpu --batch-size 2 --max-steps 2 --val-split 0 --listen-clips 0
"$bin" synth --model-gpu cpu --checkpoint "$dir/run" --iterations 2 --speaker ben --speed 1.25 --text "Hello there. It is me." --output - \
    2>"$dir/log" | cat >"$dir/synth.wav"
head -c 24 /dev/urandom | base64 >"$dir/token"
"$bin" serve --model-gpu cpu --checkpoint "$dir/run" --iterations 2 --listen 127.0.0.1:0 --json --token-file "$dir/token" >"$dir/address" 2>"$dir/served" &
server=$!
for _ in $(seq 300); do
    [ -s "$dir/address" ] || sleep 0.1
done
address=$(sed -n 's/.*"address": "\([^"]*\)".*/\1/p' "$dir/address")
cat >"$dir/client.py" <<'PY'
import sys, openai
address, token, expected = sys.argv[1], open(sys.argv[2]).read().strip(), open(sys.argv[3], "rb").read()
client = openai.OpenAI(base_url=f"http://{address}/v1", api_key=token, max_retries=0, timeout=60)
def check(name, ok):
    print(("ok " if ok else "not ok ") + name, flush=True)
asked = dict(model="tts-1", voice="ben", input="Hello there. It is me.", speed=1.25)
check("openai_speech_is_that_of_synth", client.audio.speech.create(response_format="wav", **asked).content == expected)
check("openai_default_is_mp3", client.audio.speech.create(**asked).response.headers["content-type"] == "audio/mpeg")
try:
    frames = client.audio.speech.create(response_format="aac", **asked)
    check("openai_aac", frames.response.headers["content-type"] == "audio/aac" and frames.content[:2] == b"\xff\xf1")
except openai.BadRequestError as e:
    check("openai_aac_needs_libavcodec", "apt-get install ffmpeg" in str(e))
    print("skip openai_aac SKIPPED: there is no libavcodec")
pieces = []
with client.audio.speech.with_streaming_response.create(response_format="pcm", instructions="Be kind.", extra_body={"sample_rate": 0}, **asked) as r:
    pieces = list(r.iter_bytes(4096))
check("openai_streams", len(pieces) > 1 and b"".join(pieces) == expected[44:])
usual = client.audio.speech.create(response_format="pcm", **asked).content
rate = int.from_bytes(expected[24:28], "little")
check("openai_pcm_is_24_khz", abs(len(usual) / 2 / 24000 - (len(expected) - 44) / 2 / rate) < 0.001)
# Who lets the user choose asks for the choice as Open WebUI does.
offered = [v["id"] for v in client.get("/audio/voices", cast_to=object)["voices"]]
check("openai_voices_are_offered", offered == ["run", "run/anna", "run/ben"])
check("openai_voice_of_the_server", client.audio.speech.create(response_format="wav", **{**asked, "voice": "run/ben"}).content == expected)
check("openai_name_as_voice_and_model", client.audio.speech.create(response_format="wav", **{**asked, "voice": "run", "model": "run"}).content[:4] == b"RIFF")
with client.audio.speech.with_streaming_response.create(response_format="wav", stream_format="sse", **asked) as r:
    lines = [l for l in r.iter_lines() if l]
check("openai_events", len(lines) > 1 and all(l.startswith("data: {") for l in lines) and "speech.audio.done" in lines[-1])
check("openai_lists_models", [m.id for m in client.models.list()] == ["run"])
check("openai_retrieves_a_model", client.models.retrieve("run").id == "run")
def raises(kind, word, **changes):
    try:
        client.audio.speech.create(**{**asked, **changes})
    except kind as e:
        return word in str(e) or e.code == word
    return False
check("openai_model_not_found", raises(openai.NotFoundError, "model_not_found", model="nobody"))
check("openai_voice_not_found", raises(openai.BadRequestError, "anna, ben", voice="nobody"))
check("openai_wrong_speed", raises(openai.BadRequestError, "0.25", speed=9))
client.api_key = "another"
check("openai_wrong_key", raises(openai.AuthenticationError, "token"))
PY
"$python" "$dir/client.py" "$address" "$dir/token" "$dir/synth.wav" >"$dir/said" 2>"$dir/log"
verdict openai_client_comes_to_its_end $?
grep -E '^((not )?ok|skip) ' "$dir/said"
! grep -q '^not ok' "$dir/said" || failed=1
kill "$server"
wait "$server"
verdict openai_server_ends_well $?
exit $failed
