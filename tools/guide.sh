#!/usr/bin/env bash
# Prints docs/GUIDE.md: runs every command of the guide and puts its real output below it. usage: tools/guide.sh [BUILD] > docs/GUIDE.md
# Needs the corpus of `make demo` in build/demo. With --check it only runs the commands of docs/GUIDE.md and says whether each still works.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build=build
[ "${1:-}" = --check ] || build=${1:-build}
PATH=$PWD/$build:$PATH
[ -f build/demo/metadata.csv ] || { echo "guide: build/demo is not there; make demo makes it" >&2 && exit 3; }
cat >"$work/my.yaml" <<'Y'
# my voice
model:
  model_size: nano     # the smallest
  sample_rate: 16000
  n_fft: 1024
  win_length: 800
  hop_length: 200
data:
  data_path: build/demo
  batch_size: 16
  num_worker: 64       # there are never enough
  use_tf_native_loading: false
  pin_memory: "yes"
training:
  learning_rate: 1e-3
  mixed_precison: true
Y
cp "$work/my.yaml" my.yaml
trap 'rm -rf "$work" my.yaml my.yaml.bak.*' EXIT

if [ "${1:-}" = --check ]; then
    failed=0 count=0
    while read -r line; do
        count=$((count + 1))
        bash -c "$line" >"$work/out" 2>&1 || [ $? = 1 ] || { failed=$((failed + 1)) && echo "guide: '$line' failed:" && cat "$work/out"; }
    done < <(sed -n 's/^\$ \(myxtts .*\)$/\1/p' docs/GUIDE.md)
    echo "guide: $count commands, $failed failed"
    [ "$failed" = 0 ] && [ "$count" -gt 4 ]
    exit
fi

show() { # a command and what it says; long lines of progress are left out
    printf '```\n$ %s\n' "$*"
    bash -c "$*" 2>"$work/err" || true
    grep -v "observing\|^warning: no GPU\|^device\|no driver" "$work/err" | head -20 || true
    printf '```\n\n'
}

cat <<'T'
# Why does the GPU wait?

Five steps, in this order: see whether the settings make sense, mend them, look at the data alone, find better settings, look at the step. Every output below is real: `tools/guide.sh` ran
the commands (on the corpus of `make demo`, on a machine with two CPU cores and no GPU) and wrote this page; `tools/guide.sh --check` runs them again. The names of older tools are in [TOOLS.md](TOOLS.md).

The configuration of the example, `my.yaml`:

T
printf '```yaml\n%s\n```\n\n' "$(cat my.yaml)"
echo "## 1. Validate"
echo
echo "Settings against the schema, the machine and the data. Each finding says what, why it matters, what was measured, and the fix."
echo
show "myxtts validate --config my.yaml"
echo "## 2. Apply"
echo
echo "\`--fix\` changes the file at the very values, keeps comments and order, writes a numbered backup and shows the difference."
echo
show "myxtts validate --config my.yaml --fix"
echo "## 3. Profile the data"
echo
echo "The pipeline alone, with a consumer that takes no time: how evenly do batches come?"
echo
show "myxtts profile data --config my.yaml --num-batches 100"
echo "## 4. Find better settings"
echo
echo "A grid of batch sizes and numbers of workers, every cell measured several times, with how sure the winner is."
echo
show "myxtts profile data --config my.yaml --benchmark --num-batches 60"
echo "## 5. Profile the step"
echo
echo "The real network on real batches: waiting for data, forward, loss, backward, optimiser, and the verdict."
echo
show "myxtts profile step --config my.yaml --num-steps 20"
cat <<'T'
## When it does wait

`myxtts diagnose` does all of this in one go, eight sections and a verdict, as text, JSON or one HTML page (`--html`). Here on a simulated machine whose disk needs 30 ms for a batch while the step takes 10:

T
show "myxtts diagnose --config my.yaml --sim read_ms=30,step_ms=10 --data-gpu sim0 --model-gpu sim1 | sed -n '/^ISSUES/,\$p'"
echo "And one with too few workers, where \`--apply\` runs again with the best change and puts what it gives beside what was predicted:"
echo
show "myxtts diagnose --config my.yaml --sim decode_ms=40,step_ms=10 --num-workers 2 --data-gpu sim0 --model-gpu sim1 --apply | sed -n '/^VERDICT/,\$p'"
cat <<'T'
During training the same doctor looks on: a run that starves is told so with the cause, and every run ends with a verdict. Reports of an H200 are in [examples](examples).

## Where is every sound?

A trained voice knows which frames of a recording belong to which symbol of its text: training has to find that out at every step. `myxtts align` writes it down for every clip of a
dataset, its own or another one of the same language:

```
myxtts align --checkpoint RUN --data-path DIR --output D
```

| in D (without `--output`: in `RUN/alignment`) | |
|---|---|
| `durations.tsv` | begin, end and word of every symbol of every clip ([the columns](FORMATS.md#alignments)) |
| `textgrid/ID.TextGrid` | words and phones for Praat: open it together with the recording |
| `cost.tsv` | how badly each clip fits its text, worst first |
| `alignment.png` | the first clip that was held out |

Times count from the beginning of the recording, also where silence was cut off before training. They are as fine as the hop of the mel. Look at the first lines of `cost.tsv` before you blame the network:
a wrong transcript, a second voice or a cut-off word stands there. `--clips N` takes only the first N of training and of validation.

Is the alignment any good? Every validation draws `alignment.png`, `mel.png` and `pitch.png` into the run's folder and into TensorBoard; `myxtts diagnose RUN --html R.html` puts them on one page. In
`alignment.png` symbols go upwards and time to the right, bright cells are moments that fit a symbol, and the line is the path that was chosen. Early on the line leaps and rests where it likes. Later it climbs
steadily along bright cells, rests at commas, and equal symbols have equal rows wherever they stand. Rows that repeat at equal distances, whatever the symbols are, show a network that counts instead of reading; such
a voice babbles, however low its loss is. `myxtts synth --alignment-png F.png` draws the symbols, durations and pitch of what it speaks.
T
cat <<'T'

## What the doctor says about a voice

A loss that falls does not mean that a voice can be understood. Besides what holds the training up, the doctor therefore looks at the recordings, the curves, the alignment and the words, and says what is wrong with
them, each with its numbers and with what to do. It never calls a voice good: whether it can be understood is only known when the judge has listened (`words`), and the report says so when nobody has.

It speaks in three places:
- `myxtts train` looks at the recordings before the first step (up to 200 of them are decoded), at the curves after every validation, and ends with what it has found. A cause is warned of once; the
  findings are also in `--json`.
- `myxtts diagnose RUN` reads a run's log; nothing else is needed, and the run may still be going on.
- `myxtts diagnose RUN --data-path DIR` also looks at the recordings and aligns every clip with the run's best checkpoint, once with its own text and once with another clip's. The lines whose text does not seem to be what is
  said are written to `suspects.tsv` in RUN, worst first, to listen to.

| cause | what speaks for it | what to do |
|---|---|---|
| `sample_rate` | the recordings play too fast or too slow: more than 16.5 or fewer than 5 phonemes a second, a voice over 400 or under 62 Hz, or both a little out of place (from 14.5 a second with 250 Hz on; below 8 with 85 Hz) | listen to one; write the true rate into the files. A factor of 1.4 is noticed with most readers, a smaller one is not |
| `silence` | over 5 % of the clips hold hardly any speech: left out by `prepare` as silent, below -50 dB, or quiet for more than half of their time | record again, or take the lines out |
| `alignment` | a recording fits its own text hardly better (by less than 4 %) than another clip's | texts that are shifted against the recordings, another language, too short a training |
| `durations` | most symbols have one frame and few hold all the time; or the predicted durations do not follow the real ones | long pauses, words that are not spoken; train longer |
| `words` | the judge hears over 5 points more words wrong than in the recordings, and there are enough words to be sure; or it does not understand the recordings either (over 70 % wrong) | the other findings first; then train longer, or on more |
| `texts` | lines whose fit lies 4 deviations off the others, and at least 40 % of the way to that of a text that is not said | listen to `suspects.tsv` |
| `clipping` | over 10 % of the clips have flat tops | other recordings: what was cut off does not come back |
| `overfitting` | the loss of held-out clips has been over its lowest for three validations, by 2 % or more, while the training loss fell; the step where it began is named | the best checkpoint instead of the last, more recordings, a smaller model |
| `pitch` | the predicted pitch explains less than 3 % of how the real one moves | train longer, `pitch_loss_weight` |
| `few_clips` | under 100 clips or 10 minutes; how many phonemes are rare | expect a voice that resembles the speaker and stumbles over new words |

The exit code is 1 when something was found. All limits are in `myxtts diagnose --thresholds`.

**Why another clip's text?** The loss of the alignment does not tell: it falls to half before a network has learned a single sound, because silence, voice and noise can be told apart with any text. In one
training the distance stood at 0.45 (1 is that of knowing nothing), with durations that looked like speech, while recordings fitted any text as well as their own (0.1 % apart): the network had learned positions, not symbols. So each
validation also asks how much worse the clips fit each other's texts (`own_text` in log.jsonl, `validation/own_text` in TensorBoard). It is near 0 as long as nothing is learned; in the
voice below it was 0.34 after 250 steps, when no word could be understood yet, and 0.64 after 750.

An example: 1,500 clips spoken by flite, of which 75 have the text of another clip, and a `nano` that has learned from all of them for 800 steps (`bench/voice_doctor` makes it, and other spoiled corpora).
All 75 are named, and one more ("In Newgate the 'Lennie' mutineers were extremely well behaved.", whose name flite and espeak-ng may read differently):

```
RUN/best.safetensors (step 800)

VOICE
  recordings   1500 clips, 85.7 minutes, 13.1 phonemes a second, 172 Hz; of 200 looked at 0 are mostly silence, 0 clipped
  losses       training 0.5209 at step 800, held-out clips 0.5114 at step 800 (lowest 0.5114 at 800)
  alignment    distance 0.19, 68.6 % less than with the text of another clip (1500 clips)
  durations    4.1 frames a symbol; 16 % of the symbols have one, the longest tenth has 27 % of all
  predicted    50 % of how durations differ and 67 % of how the pitch moves, 88 clips
  words        26.9 % of 78 words were heard wrong, of the recordings 26.9 % (step 800)

FINDINGS
  1. texts: 76 of 1500 lines have a text that does not seem to be what is said: it fits the recording hardly better than another clip's does. The clearest is LJ028-0113.
     Listen to the clips in the list (worst first) and put their text right or take their lines out: they teach wrong sounds.
```
T
