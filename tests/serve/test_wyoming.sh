#!/usr/bin/env bash
# The Wyoming port of `myxtts serve` with the protocol's own Python package, as Home Assistant uses it: it is described, speaks what
# `synth` writes, also text that comes in chunks; who reaches it from elsewhere must be allowed to. usage: test_wyoming.sh [build folder]
set -u
cd "$(dirname "$0")/../.." || exit 3
out=${1:-build} python=build/clients/bin/python
bin=$out/myxtts
if [ ! -x "$bin" ]; then
    echo "skip wyoming SKIPPED: $bin was not built"
    exit 0
fi
. tests/support/shell.sh
voice=(--vocoder griffin_lim --iterations 4 --model-gpu cpu)
checkpoint=tests/golden/checkpoint.safetensors

ends_with other_addresses_are_refused 2 "$bin" serve --checkpoint $checkpoint "${voice[@]}" --listen 127.0.0.1:0 --wyoming 0.0.0.0:0
log_has it_says_why 'the Wyoming protocol has no token'
log_has it_says_what_to_do '--wyoming-open'
ends_with what_nobody_reaches_is_not_announced 2 "$bin" serve --checkpoint $checkpoint "${voice[@]}" --listen 127.0.0.1:0 --wyoming 10200 --announce
log_has it_says_what_is_needed '--wyoming-open'
ends_with a_port_must_be_one 2 "$bin" serve --checkpoint $checkpoint "${voice[@]}" --listen 127.0.0.1:0 --wyoming home:house

if ! $python -c 'import wyoming' 2>/dev/null; then
    echo "skip wyoming_client SKIPPED: there is no Python package wyoming in build/clients (tools/deps.sh tests)"
    exit $failed
fi
"$bin" serve --checkpoint $checkpoint "${voice[@]}" --max-wait 3600 --listen 127.0.0.1:0 --wyoming 127.0.0.1:0 --json >"$dir/where" 2>"$dir/log" &
server=$!
trap 'kill $server 2>/dev/null; rm -rf "$dir"' EXIT
for _ in $(seq 600); do
    grep -q . "$dir/where" && break
    kill -0 $server 2>/dev/null || break
    sleep 0.05
done
address=$(sed -n 's/.*"wyoming": "\([^"]*\)".*/\1/p' "$dir/where")
[ -n "$address" ]
verdict it_says_where $?
text='Old hill. Green hill! Is it 3.5 miles old; or 7? The end'
ends_with synth_speaks 0 "$bin" synth --checkpoint $checkpoint "${voice[@]}" --text "$text" --output "$dir/expected.wav"

cat >"$dir/client.py" <<'PY'
import asyncio, sys, wave
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncClient
from wyoming.error import Error
from wyoming.info import Describe, Info
from wyoming.ping import Ping, Pong
from wyoming.tts import Synthesize, SynthesizeChunk, SynthesizeStart, SynthesizeStop, SynthesizeStopped, SynthesizeVoice

address, text, expected = sys.argv[1:]
with wave.open(expected) as f:
    rate, samples = f.getframerate(), f.readframes(f.getnframes())
assert len(samples) > 4000

def client():
    return AsyncClient.from_uri("tcp://" + address, read_timeout=60)

async def hear(c, last):
    sound = b""
    while True:
        event = await c.read_event()
        assert event is not None, "the connection has ended"
        if AudioStart.is_type(event.type):
            start = AudioStart.from_event(event)
            assert (start.rate, start.width, start.channels) == (rate, 2, 1)
        elif AudioChunk.is_type(event.type):
            chunk = AudioChunk.from_event(event)
            assert (chunk.rate, chunk.width, chunk.channels) == (rate, 2, 1)
            sound += chunk.audio
        else:
            assert AudioStop.is_type(event.type) or SynthesizeStopped.is_type(event.type), event
        if last.is_type(event.type):
            return sound

async def describe():
    async with client() as c:
        await c.write_event(Describe().event())
        info = Info.from_event(await c.read_event())
        program = info.tts[0]
        assert program.installed and program.supports_synthesize_streaming
        voice = program.voices[0]
        assert voice.name == "checkpoint" and voice.languages == ["en"] and voice.installed, voice
        assert [s.name for s in voice.speakers] == ["anna"]
        await c.write_event(Ping(text="here?").event())
        assert Pong.from_event(await c.read_event()).text == "here?"

async def speak(voice):
    async with client() as c:
        await c.write_event(Synthesize(text=text, voice=voice).event())
        assert await hear(c, AudioStop) == samples

async def stream(size):
    async with client() as c:
        await c.write_event(SynthesizeStart(voice=SynthesizeVoice(name="checkpoint")).event())
        for i in range(0, len(text), size):
            await c.write_event(SynthesizeChunk(text=text[i:i + size]).event())
        await c.write_event(Synthesize(text=text).event())  # for servers that know no streams
        await c.write_event(SynthesizeStop().event())
        assert await hear(c, SynthesizeStopped) == samples

async def fail():
    async with client() as c:
        await c.write_event(Synthesize(text=text, voice=SynthesizeVoice(name="nobody")).event())
        error = Error.from_event(await c.read_event())
        assert error.code == "not-found" and "checkpoint" in error.text, error
        assert await c.read_event() is None

async def main():
    await describe()
    for voice in None, SynthesizeVoice(name="checkpoint"), SynthesizeVoice(name="checkpoint", speaker="anna"), SynthesizeVoice(language="en"):
        await speak(voice)
    for size in 1, 5, 1000:
        await stream(size)
    await fail()
    await asyncio.gather(*(speak(None) for _ in range(8)), *(stream(3) for _ in range(8)), describe())

asyncio.run(main())
PY
ends_with the_package_hears_what_synth_writes 0 $python "$dir/client.py" "$address" "$text" "$dir/expected.wav"
kill -TERM $server
wait $server
verdict it_ends_well $?
exit $failed
