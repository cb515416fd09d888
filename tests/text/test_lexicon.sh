#!/usr/bin/env bash
# Own pronunciations from training to speaking: in the cache, in the checkpoint, in an export, over HTTP; and what is said of text that
# cannot be spoken.
set -u
bin=${MYXTTS_BIN:-build/myxtts}
. tests/support/shell.sh
if [ ! -x "$bin" ]; then
    echo "skip lexicon SKIPPED: $bin was not built"
    exit 0
fi
bin=$(realpath "$bin")
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$dir"' EXIT
cp tests/data/ljspeech/metadata.csv "$dir/metadata.csv"
ln -s "$PWD/tests/data/ljspeech/wavs" "$dir/wavs"
id=$(head -1 "$dir/metadata.csv" | cut -d'|' -f1)
printf '# ours\nmodern\tmɒdˈɜːn\n' >"$dir/ours.tsv"
printf 'modern\tpɹˈuː\n' >"$dir/other.tsv"
train=("$bin" train --data-path "$dir" --cache-dir "$dir/cache" --model-size nano --model-gpu cpu --data-gpu cpu --batch-size 2 --max-steps 2
    --val-split 0 --listen-clips 0 --text2audio-interval-steps 0)

# ---- in training ----
ends_with training_with_a_lexicon 0 "${train[@]}" --checkpoint-dir "$dir/run" --lexicon "$dir/ours.tsv"
phonemes() { "$bin" inspect "$1" --utterance "$id" --json 2>/dev/null | tr -d '\n' | grep -o '"phonemes": *"[^"]*"'; }
phonemes "$dir/cache" >"$dir/log"
log_has texts_are_learned_with_it 'mɒdˈɜːn'
ends_with without_it_the_cache_is_another 0 "$bin" prepare --data-path "$dir" --cache-dir "$dir/cache"
phonemes "$dir"/cache/text-*/ >"$dir/log" # beside the other
log_has nothing_stale_is_served 'mˈɑːdɚn'
printf 'modern pɹ\n' >"$dir/bad.tsv"
ends_with a_wrong_line_is_told 3 "$bin" phonemize --text Hi --lexicon "$dir/bad.tsv"
log_has with_its_number 'bad\.tsv:1: the TAB between'
ends_with a_file_that_is_not_there 2 "$bin" phonemize --text Hi --lexicon "$dir/nothing.tsv"
log_has it_is_named 'there is no lexicon .*nothing\.tsv'

# ---- in speaking: the sound is that of the IPA itself, to the bit ----
rm "$dir/ours.tsv"
ends_with export 0 "$bin" export --checkpoint "$dir/run" --output "$dir/voice.safetensors"
ends_with export_with_another 0 "$bin" export --checkpoint "$dir/run" --output "$dir/other.safetensors" --lexicon "$dir/other.tsv"
say() { "$bin" synth --model-gpu cpu --iterations 2 --checkpoint "$1" --text "$2" --output "$dir/$3.wav" "${@:4}" >"$dir/log" 2>&1; }
same() { # name, checkpoint, text, other text, options: both are the same sound
    say "$2" "$3" a "${@:5}" && say "$2" "$4" b "${@:5}" && cmp -s "$dir/a.wav" "$dir/b.wav"
    verdict "$1" $?
}
same the_checkpoint_knows_it "$dir/run" "Modern now." "[[mɒdˈɜːn]] now."
same the_export_knows_it "$dir/voice.safetensors" "Modern now." "[[mɒdˈɜːn]] now."
same a_file_wins "$dir/run" "Modern now." "[[pɹˈuː]] now." --lexicon "$dir/other.tsv"
same an_export_keeps_it "$dir/other.safetensors" "Modern now." "[[pɹˈuː]] now."
say "$dir/run" "Modern now." a && say "$dir/other.safetensors" "Modern now." b && ! cmp -s "$dir/a.wav" "$dir/b.wav"
verdict they_differ $?

# ---- a language that espeak-ng does not speak, by words and letters ----
mkdir "$dir/tok"
ln -s "$PWD/tests/data/ljspeech/wavs" "$dir/tok/wavs"
cut -d'|' -f1 "$dir/metadata.csv" | while read -r clip; do echo "$clip|toki a! jan Sonja li pana e lipu pona tawa jan ale."; done >"$dir/tok/metadata.csv"
cp docs/examples/toki-pona.tsv "$dir/tok.tsv"
"$bin" phonemize --language tok --lexicon "$dir/tok.tsv" --text "mi nanpa 2, Toki Pona." >"$dir/log" 2>&1
log_has its_example_is_read '^mi nanpa tu ?, ˈtoki ˈpona\.$'
ends_with training_in_it 0 "${train[@]}" --data-path "$dir/tok" --cache-dir "$dir/tok/cache" --checkpoint-dir "$dir/tok/run" --language tok \
    --lexicon "$dir/tok.tsv"
rm "$dir/tok.tsv"
ends_with export_of_it 0 "$bin" export --checkpoint "$dir/tok/run" --output "$dir/tok/voice.safetensors"
same the_voice_has_its_letters "$dir/tok/run" "toki nanpa." "[[toki]] [[nanpa]]."
same so_has_its_export "$dir/tok/voice.safetensors" "jan Sonja li toki." "jan [[ˈsonja]] li [[toki]]."

# ---- what is marked up ----
same markdown_is_found_out "$dir/run" '# Modern'$'\n\n''- **now**'$'\n''- then' 'Modern.'$'\n''now.'$'\n''then.'
say "$dir/run" '**now**' a && say "$dir/run" '**now**' b --text-format plain && ! cmp -s "$dir/a.wav" "$dir/b.wav"
verdict its_marks_can_be_read $?
same html_is_read "$dir/run" '<p>Now</p><script>x</script>' 'Now.' --text-format html
ends_with an_unknown_format 2 "$bin" synth --checkpoint "$dir/run" --text a --text-format word
log_has is_told 'auto, plain, markdown, html or ssml'

# ---- over HTTP ----
"$bin" serve --checkpoint "$dir/voice.safetensors" --listen 127.0.0.1:0 --model-gpu cpu --lexicon "$dir/other.tsv" >"$dir/serve" 2>&1 &
server=$!
for _ in $(seq 200); do
    url=$(grep -o 'http://127.0.0.1:[0-9]*' "$dir/serve" | head -1)
    [ -n "$url" ] && break
    sleep 0.1
done
speech() { # text, file
    curl -s -D "$dir/headers" -o "$dir/$2" -H 'Content-Type: application/json' -d "{\"input\": \"$1\", \"response_format\": \"pcm\"}" \
        "$url/v1/audio/speech"
}
if command -v curl >/dev/null && [ -n "$url" ]; then
    speech "Modern now." a.pcm
    speech "[[pɹˈuː]] now." b.pcm
    [ -s "$dir/a.pcm" ] && cmp -s "$dir/a.pcm" "$dir/b.pcm"
    verdict the_server_knows_it $?
    grep -qi '^X-Myxtts-Left-Out: 0' "$dir/headers"
    verdict nothing_is_left_out $?
    speech '# Modern\n\n[now](http://a.b)' d.pcm
    speech 'Modern.\nnow.' e.pcm
    [ -s "$dir/d.pcm" ] && cmp -s "$dir/d.pcm" "$dir/e.pcm"
    verdict the_server_finds_markdown_out $?
    speech 'Modern \ue000 now \ue001.' c.pcm
    grep -qi '^X-Myxtts-Left-Out: 2' "$dir/headers"
    verdict the_answer_counts_what_is_left_out $?
    curl -s -H 'Content-Type: application/json' -d '{"input": "Modern \ue000 now.", "response_format": "pcm", "stream_format": "sse"}' \
        "$url/v1/audio/speech" | grep 'speech.audio.done' >"$dir/log"
    log_has the_last_event_names_it '"left_out":1,"left_out_pieces":\[\{.*"at":7,"line":1,"column":8,"why":"U\+E000 is a private character"'
else
    echo "skip the_server_knows_it SKIPPED: there is no curl, or no server"
fi

# ---- from Python ----
python=$(python_with numpy)
library=$PWD/${MYXTTS_OUT:-build}/libmyxtts.so
if [ "${MYXTTS_OUT:-build}" = build ] && [ -n "$python" ] && [ -e "$library" ]; then
    MYXTTS_LIBRARY=$library PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=python "$python" - "$dir" >"$dir/log" 2>&1 <<'PY'
import sys
import numpy as np
import myxtts
folder = sys.argv[1]
with myxtts.Voice(folder + "/voice.safetensors", device="cpu", rounds=2) as own, \
        myxtts.Voice(folder + "/voice.safetensors", device="cpu", rounds=2, lexicon=folder + "/other.tsv") as other:
    assert np.array_equal(own.say("Modern now."), own.say("[[mɒdˈɜːn]] now."))
    assert np.array_equal(other.say("Modern now."), own.say("[[pɹˈuː]] now."))
PY
    verdict python_knows_it $?
else
    echo "skip python_knows_it SKIPPED: there is no Python with numpy, or no library for it"
fi

# ---- what will be said ----
"$bin" phonemize --text "It cost 5 euros on [[ˈmʌn]]day." --explain >"$dir/log" 2>&1
log_has numbers_are_written_out 'fˈaɪv jˈʊɹ'
log_has origins_are_shown 'inline.*ˈmʌn'
"$bin" phonemize --text "The Xyzzy of Nguyen" --unknown >"$dir/log" 2>&1
[ "$(cat "$dir/log")" = "$(printf 'Xyzzy\tzˈaɪzi')" ]
verdict guesses_are_listed $?
say "$dir/run" "One $(printf '\xee\x80\x80') two." a
[ $? = 1 ]
verdict synth_ends_with_1 $?
log_has it_names_the_place 'line 1, column 5: .* is skipped: U\+E000 is a private character'
exit "$failed"
