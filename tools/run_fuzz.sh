#!/usr/bin/env bash
# Builds every tests/fuzz/fuzz_*.c with clang's fuzzer and the address and undefined sanitizers, runs each for 60 seconds or as long
# as asked, two at a time (FUZZ_JOBS), from seeds made here. Inputs that broke something stay in build/fuzz/findings-NAME.
#   tools/run_fuzz.sh [SECONDS] [part of a name]      Exit 1 on a finding.
#   tools/run_fuzz.sh --kit DIR [part of a name]      No run: puts programs, libraries and seeds into DIR, for another machine, where
#                                                     DIR/run.sh SECONDS CORES runs them.
set -u
cd "$(dirname "$0")/.."
kit=
if [ "${1:-}" = --kit ]; then
    kit=${2:?a folder}
    shift 2
fi
seconds=60
case ${1:-} in '' | *[!0-9]*) ;; *)
    seconds=$1
    shift
    ;;
esac
filter=${1:-}
jobs=${FUZZ_JOBS:-2}
out=build/fuzz
packages=$(sed -n 's/^PKGS := //p' Makefile)
flags="-O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=undefined"
mkdir -p "$out/obj"

if ! command -v clang >/dev/null || ! echo 'int LLVMFuzzerTestOneInput(const char*p,long n){return 0;}' |
    clang -w -x c -fsanitize=fuzzer,address,undefined -o "$out/probe" - 2>"$out/probe.log"; then
    cat "$out/probe.log" >&2
    echo "run_fuzz: clang with its fuzzer library is needed (Debian: clang libclang-rt-dev)" >&2
    exit 3
fi

# shellcheck disable=SC2046,SC2086 # lists of flags
cflags="-std=gnu11 -w -D_GNU_SOURCE -Isrc $(pkg-config --cflags $packages) -pthread $flags"
libs="$(pkg-config --libs $packages) -lcld2 -lm -ldl -pthread"

# An object is made again when its source or any header is newer.
newest_header=$(find src -name '*.h' -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2-)
compile() { # unit source flags: a line of `make units`
    local object="$out/obj/${1//\//_}.o"
    if [ ! -f "$object" ] || [ "$2" -nt "$object" ] || [ "$newest_header" -nt "$object" ]; then
        # shellcheck disable=SC2086
        case $2 in
        *.cc) clang++ -std=c++17 -w -Isrc -pthread $flags -fsanitize=fuzzer-no-link,address,undefined -c -o "$object" "$2" ;;
        *) clang $cflags "${@:3}" -fsanitize=fuzzer-no-link,address,undefined -c -o "$object" "$2" ;;
        esac || return 1
    fi
    return 0
}
options_of() { # name: the longest input, and the words of its language
    case $1 in
    store) echo -max_len=12000 ;;
    yaml) echo -max_len=8192 ;;
    audio) echo -max_len=20000 ;;
    runs) echo -max_len=16384 ;;
    serve) echo -max_len=8192 ;;
    ssml) echo -max_len=2048 ;;
    *) echo -max_len=4096 ;;
    esac
}
export -f compile options_of
export out newest_header flags cflags
echo "fuzz: building"
failed=0 passed=0
units=$(make -s --no-print-directory units && echo tests/support/yaml_testing tests/support/yaml_testing.c)
# A source that clang refuses is a failure; the targets that do not need it run all the same.
printf '%s\n' "$units" | xargs -P 2 -L1 bash -c 'compile "$@" || { rm -f "$out/obj/${1//\//_}.o"; exit 1; }' _ || failed=1
objects=()
while read -r unit source _; do
    object="$out/obj/${unit//\//_}.o"
    [ -f "$object" ] && objects+=("$object") || echo "fuzz: $source does not build with clang"
done <<<"$units"
rm -f "$out/libmyxtts.a"
ar rcs "$out/libmyxtts.a" "${objects[@]}"

# A few sound inputs per target, so that the fuzzer starts behind the first checks.
seeds() { # name
    local dir="$out/corpus-$1"
    mkdir -p "$dir"
    case $1 in
    yaml)
        printf 'data:\n  batch_size: 8\n  num_workers: 2\nmodel:\n  n_mels: 80\ntraining:\n  learning_rate: 1e-4\n' >"$dir/seed-1"
        printf 'data: {batch_size: 56, "pin_memory": yes}\n# end\n' >"$dir/seed-2"
        [ -f configs/default.yaml ] && cp configs/default.yaml "$dir/seed-3"
        ;;
    metadata)
        printf '\001\200LJ001-0001|Printing, in 1455|Printing, in fourteen\nLJ001-0002|two|two\n' >"$dir/seed-1"
        printf '\003\377id,text,speaker\r\na,"b ""c"", d",x\r\n../e,f,g\r\n' >"$dir/seed-2"
        printf '\002\000\357\273\277id\ttext\na\tb\n' >"$dir/seed-3"
        ;;
    layouts) # the first byte: JSON lines or Kaldi, three more: where its files are cut
        printf '\000\000\000\000{"audio_filepath": "wavs/a.wav", "text": "b \\u00fc", "speaker": 3}\n{"id": "x", "offset": 2}\n[]\n' >"$dir/seed-1"
        printf '\001\140\300\300a First one.\nb Two\na a.wav\nb sph2pipe b |\na ann\nb ben\na en\n' >"$dir/seed-2"
        ;;
    npy)
        printf "\\001{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }\\0\\0\\0\\0\\0\\0\\0\\0\\0" >"$dir/seed-1"
        printf "\\003{'descr': '<f8', 'fortran_order': True, 'shape': (2, 1,), }\\0%016d" 0 >"$dir/seed-2"
        ;;
    store) "$out/make_store_seed" "$dir" ;;
    yaml_edit) # the first byte chooses: edit or repair
        printf '\000data:\n  batch_size: 8 # clips\nmodel: {n_mels: 80}\n' >"$dir/seed-1"
        printf '\200data:\n  batch_sise: 8\n  pin_memory: &a "yes"\ntraining:\n  epochs: *a\n' >"$dir/seed-2"
        ;;
    text) # the first byte: English
        grep -v '^#' tests/data/english_said.tsv | cut -f1 | split -l 8 - "$dir/part-"
        for part in "$dir"/part-*; do (printf '\001' && cat "$part") >"$dir/seed-${part##*-}" && rm "$part"; done
        ;;
    markup) # the first byte: Markdown or HTML, and the language
        for format in markdown html plain; do
            grep "^$format" tests/data/read-aloud.tsv | cut -f3 | sed 's/\\n/\n/g' | split -l 12 - "$dir/part-$format-"
        done
        for part in "$dir"/part-*; do
            case $part in *html*) printf '\001' ;; *) printf '\000' ;; esac | cat - "$part" >"$dir/seed-${part##*part-}" && rm "$part"
        done
        ;;
    lexicon) # behind the zero byte: a text
        printf 'siobhan\tʃɪˈvɔːn\n# names\nNew York\tnuː jɔːk\tlast\n\000Siobhan’s in New York.' >"$dir/seed-1"
        printf 'a\tb\n%%language tok lexicon\nSonja\tsonja\n%%letters\nk\tk\nnk\tŋk\nh\t\t# silent\n%%language any\nc\td\n\000anka Sonja' >"$dir/seed-3"
        printf 'AT&T\teɪ tiː\tfirst\nc++\tsiː\n\000AT&T, C++' >"$dir/seed-2"
        ;;
    ssml) # the first byte: phonemes, English
        printf '\003<speak xml:lang="en-US"><p>A <emphasis level="strong">b</emphasis> <break time="2s"/>c</p><mark name="m"/></speak>' >"$dir/seed-1"
        printf '\003<speak><prosody rate="+10%%" pitch="-2st" volume="+6dB">a<prosody rate="slow">b</prosody></prosody> &#233;&lt;</speak>' >"$dir/seed-2"
        printf '\002<?xml version="1.0"?><!DOCTYPE speak><!-- c --><speak><say-as interpret-as="date" format="dmy">1/2/2003</say-as><![CDATA[<]]><sub alias="x">y</sub></speak>' >"$dir/seed-3"
        printf '\001<speak><say-as interpret-as="telephone">+1 22</say-as><phoneme alphabet="ipa" ph="\303\246">a</phoneme><voice name="n"><lang xml:lang="de">b</lang></voice></speak>' >"$dir/seed-4"
        ;;
    wyoming) # the first byte: how large the pieces are
        printf '\003{"type": "describe"}\n{"type": "ping", "data": {"text": "a"}, "data_length": 13}\n{"text": "b"}' >"$dir/seed-1"
        printf '\017{"type": "synthesize", "data_length": 43}\n{"text": "a", "voice": {"name": "b\\u00e4"}}' >"$dir/seed-2"
        printf '\001{"type": "synthesize-start", "data": {"voice": {"name": "a"}}}\n{"type": "synthesize-chunk", "data": {"text": "Half a"}}\n{"type": "synthesize-chunk", "data_length": 14}\n{"text": ". B"}' >"$dir/seed-4"
        printf '\000{"type": "audio-chunk", "data": null, "payload_length": 3}\nabc{"type": "synthesize-stop"}\n' >"$dir/seed-3"
        ;;
    onnx) # a number, two entries around an empty graph
        printf '\010\010\162\017\012\007licence\022\004CC0-\072\000\162\012\022\001b\012\005voice' >"$dir/seed-1"
        ;;
    safetensors) ;; # it changes a file of its own
    runs) # two logs with a zero byte between them
        python3 - "$dir" <<'PY'
import json, sys
def log(step_ms, resume):
    lines = [{"event": "start", "device": "cpu", "batch_size": 16, "total_steps": 100, "model_gpu": "0", "data_gpu": "cpu"}]
    for k in range(1, 7):
        lines.append({"event": "step", "step": 5 * k, "seconds": 0.1 * k, "loss": 3.0 / k, "step_ms": step_ms, "wait_share": 0.1,
                      "busy_share": 0.9, "padding_share": 0.2, "utterances_per_s": 100.0, "frames_per_s": 9000.0,
                      "gpu_utilisation": 0.5, "queue_ready": 1, "queue_slots": 4, "model_bytes": 1e9,
                      "step_times_ms": [step_ms + (k * i) % 3 for i in range(5)]})
        if k == 3:
            lines.append({"event": "validation", "step": 15, "loss": 1.5})
            lines.append({"event": "skipped", "step": 15, "text": "too high"})
            if resume:
                lines.append({"event": "resume", "step": 10})
    lines.append({"event": "heard", "step": 30, "words_wrong_share": None})
    lines.append({"event": "end", "text": "done"})
    return "".join(json.dumps(x, separators=(",", ":")) + "\n" for x in lines).encode()
open(f"{sys.argv[1]}/seed-1", "wb").write(log(40, False) + b"\0" + log(30, True))
open(f"{sys.argv[1]}/seed-2", "wb").write(log(40, True))
open(f"{sys.argv[1]}/seed-3", "wb").write(b'{"event":"step","step":1,"loss":null,"step_times_ms":[null,-1,1e308]}\n{"event":\n\0')
PY
        ;;
    serve) # bodies, queries as lines, whole requests
        printf '{"model":"run","input":"Hello.","voice":{"id":"anna"},"response_format":"wav","speed":1.5,"pitch":-2,"stream_format":"sse","details":true}' >"$dir/seed-1"
        printf '{"input":"\\u00e4 \\ud83d\\ude00","reference":"data:audio/wav;base64,UklGRg==","instructions":null}' >"$dir/seed-2"
        printf 'input=Hello\nspeed=1.2\ndetails=true\nresponse_format=pcm\nsample_rate=16000' >"$dir/seed-3"
        printf '{"input":"a","voice":"run/anna","response_format":"pcm","sample_rate":22050}' >"$dir/seed-9"
        printf 'GET /v1/audio/speech?input=a%%20b&speed=2&voice=x HTTP/1.1\r\nHost: localhost\r\n\r\n' >"$dir/seed-4"
        printf 'POST /v1/audio/speech HTTP/1.1\r\nHost: [::1]:80\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{"input":"a"}' >"$dir/seed-5"
        printf 'POST /v1/audio/speech HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"inp\r\n8\r\nut":"a"}\r\n0\r\n\r\n' >"$dir/seed-6"
        printf 'GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer x\r\n\r\nHEAD / HTTP/1.1\r\nHost: a.localhost\r\nIf-None-Match: "1"\r\n\r\nOPTIONS /metrics HTTP/1.0\r\n\r\n' >"$dir/seed-7"
        printf 'POST /v1/audio/speech?voice=x HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nHello\r\n1\r\n.\r\n0\r\nX: y\r\n\r\n' >"$dir/seed-10"
        printf 'GET /v1/runs/a%%2fb/file?path=x HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-5\r\nSec-Fetch-Site: cross-site\r\n\r\n' >"$dir/seed-8"
        ;;
    options)
        printf -- '--batch-size\n16\n--no-add-blank\n--learning-rate=1e-4\n--sim\n--text-cleaners\nenglish' >"$dir/seed-1"
        printf -- 'read_ms=40,step_ms=20,jitter=0.1,stall=read:16:300\n--supported-languages\nen,fa' >"$dir/seed-2"
        printf -- '--data-gpu=sim0\n--metadata-delimiter\n|\nfail=h2d:3,seed=4,disk_mb_s=100' >"$dir/seed-3"
        ;;
    *) # audio headers and whatever else: small files of the real kinds
        cp tests/data/formats/LJ001-0002.mp3 "$dir/seed-real.mp3"
        head -c 20000 tests/data/formats/LJ001-0002.flac >"$dir/seed-cut.flac"
        python3 - "$dir" <<'PY'
import math, struct, sys, wave
out = sys.argv[1]
for i, (rate, channels, width) in enumerate(((8000, 1, 2), (22050, 2, 2), (16000, 1, 1), (48000, 8, 3))):
    with wave.open(f"{out}/seed-{i}.wav", "wb") as w:
        w.setnchannels(channels)
        w.setsampwidth(width)
        w.setframerate(rate)
        w.writeframes(bytes(int(128 + 100 * math.sin(t / 9)) & 255 for t in range(256 * channels * width)))
data = struct.pack("<64f", *(math.sin(t / 5) for t in range(64)))
fmt = struct.pack("<HHIIHH", 3, 1, 16000, 64000, 4, 32)
body = b"WAVEfmt " + struct.pack("<I", len(fmt)) + fmt + b"data" + struct.pack("<I", len(data)) + data
open(f"{out}/seed-float.wav", "wb").write(b"RIFF" + struct.pack("<I", len(body)) + body)
PY
        ;;
    esac
}

names=()
for f in tests/fuzz/fuzz_*.c; do
    [ -f "$f" ] || continue
    name=$(basename "$f" .c)
    name=${name#fuzz_}
    case $name in *"$filter"*) names+=("$name") ;; esac
done
ready=()
for name in ${names[@]+"${names[@]}"}; do
    # shellcheck disable=SC2086
    if { [ "$name" != store ] || clang $cflags -fsanitize=address,undefined -o "$out/make_store_seed" tests/fuzz/make_store_seed.c "$out/libmyxtts.a" $libs -lstdc++; } &&
        clang $cflags -fsanitize=fuzzer,address,undefined -c -o "$out/fuzz_$name.o" "tests/fuzz/fuzz_$name.c" &&
        clang++ -fsanitize=fuzzer,address,undefined -o "$out/fuzz_$name" "$out/fuzz_$name.o" "$out/libmyxtts.a" $libs &&
        ASAN_OPTIONS=detect_leaks=0 seeds "$name"; then
        ready+=("$name")
    else
        echo "$name: does not build"
        failed=$((failed + 1))
    fi
done

fuzz_one() { # name
    local log="$out/log-$1" tmp
    tmp=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)" myxtts-fuzz-XXXXXX)
    mkdir -p "$out/findings-$1"
    TMPDIR=$tmp UBSAN_OPTIONS=print_stacktrace=1 "$out/fuzz_$1" -max_total_time="$seconds" "$(options_of "$1")" -timeout=10 -rss_limit_mb=2048 \
        -artifact_prefix="$out/findings-$1/" -print_final_stats=1 "$out/corpus-$1" >"$log" 2>&1 </dev/null
    echo $? >"$log.rc"
    rm -rf "$tmp"
}

# Everything that the targets need but the kernel, for a machine of the same kind without our libraries.
pack_kit() {
    local name lib
    mkdir -p "$kit/bin" "$kit/lib"
    for name in "${ready[@]}"; do
        strip --strip-debug -o "$kit/bin/fuzz_$name" "$out/fuzz_$name"
        mkdir -p "$kit/corpus-$name"
        find "$out/corpus-$name" -type f -size -20k -exec cp -t "$kit/corpus-$name" {} +
        options_of "$name" >"$kit/bin/fuzz_$name.options"
    done
    # What the programs load, their loader too, so that versions fit.
    ldd "$kit"/bin/fuzz_* 2>/dev/null | sed -nE 's/.* => (\/[^ ]+) .*/\1/p; s/^\s*(\/[^ ]*ld-linux[^ ]*) .*/\1/p' | sort -u | while read -r lib; do
        cp -L "$lib" "$kit/lib/"
    done
    cp tools/fuzz_kit.sh "$kit/run.sh"
    echo "fuzz: ${#ready[@]} targets in $kit"
}
export -f fuzz_one
export seconds
if [ -n "$kit" ]; then
    pack_kit
    exit $((failed != 0))
fi
[ ${#ready[@]} -eq 0 ] || echo "fuzz: ${ready[*]}, $seconds s each, $jobs at a time"
[ ${#ready[@]} -eq 0 ] || printf '%s\n' "${ready[@]}" | xargs -P "$jobs" -I{} bash -c 'fuzz_one "$1"' _ {}
for name in ${ready[@]+"${ready[@]}"}; do
    log="$out/log-$name"
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    speed=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
    if [ "$(cat "$log.rc")" = 0 ]; then
        echo "$name: ${runs:-?} runs, ${speed:-?}/s, no findings"
        passed=$((passed + 1))
    else
        echo "$name: ${runs:-?} runs, ${speed:-?}/s, FINDING:"
        grep -nE 'ERROR|runtime error|assertion|SUMMARY|does not open|Test unit written' "$log" | head -8 | sed 's/^/    /'
        grep -E '^ +#[0-9]+ ' "$log" | head -12
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
