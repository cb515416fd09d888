#!/usr/bin/env bash
# myxtts diagnose RUN on logs made here: what it finds in them, what it prints, how it ends.
set -u
bin=${MYXTTS_BIN:-build/myxtts}
. tests/support/shell.sh
if [ ! -x "$bin" ]; then
    echo "skip voice_doctor SKIPPED: $bin was not built"
    exit 0
fi

make_run() { # folder, rise of validation after step 2000: the lowest is at 2500, own text at the end, words wrong of 500
    mkdir -p "$1"
    awk -v rise="$2" -v own="$3" -v wrong="$4" 'BEGIN {
        print "{\"event\":\"start\",\"step\":0,\"total_steps\":6000}"
        for (step = 100; step <= 6000; step += 100) {
            loss = 0.5 + exp(-step / 1000)
            printf "{\"event\":\"step\",\"step\":%d,\"loss\":%.5f,\"align\":0.15}\n", step, loss
            if (step % 500 == 0)
                printf "{\"event\":\"validation\",\"step\":%d,\"loss\":%.5f,\"align\":0.16,\"own_text\":%s}\n", step,
                    loss + 0.02 + (step > 2000 ? rise * (step - 2000) / 1000 : 0), own
        }
        if (wrong != "")
            printf "{\"event\":\"heard\",\"step\":6000,\"words\":500,\"words_wrong\":%d,\"recordings_words\":500,\"recordings_words_wrong\":25}\n", wrong
        print "{\"event\":\"end\",\"step\":6000,\"text\":\"done\"}"
    }' >"$1/log.jsonl"
}
make_run "$dir/sound" 0 0.4 30
make_run "$dir/unheard" 0 0.4 ""
make_run "$dir/overfitted" 0.1 0.4 30
make_run "$dir/deaf" 0 0.003 450

# Stopped by the guard at a learning rate of 1, before a validation and without a checkpoint: as `train` writes it, a line or none.
mkdir "$dir/diverged" "$dir/unlogged"
{
    echo '{"event":"start","step":0,"total_steps":300,"settings":{"mel_loss_weight":"1","align_loss_weight":"1"}}'
    echo '{"event":"step","step":50,"loss":5e12,"mel":9.5,"align":0.2,"lr":0.25,"skipped":14}'
} >"$dir/diverged/log.jsonl"
{
    echo '{"event":"start","step":0,"total_steps":300}'
    echo '{"event":"diverged","step":48,"skipped_in_a_row":20,"loss":5e12,"lowest_loss":5.3}'
    echo '{"event":"end","step":48,"text":"error"}'
} >"$dir/unlogged/log.jsonl"

ends_with diverged_is_a_finding 1 "$bin" diagnose "$dir/diverged"
log_has diverged_is_named '1\. loss: The training has diverged: the loss is 5e\+12 at step 50, far above .* rate was 0\.25'
ends_with stop_of_the_guard_is_a_finding 1 "$bin" diagnose "$dir/unlogged"
log_has stop_of_the_guard_is_named '1\. loss: .* at step 48, having been 5\.3 at its lowest; the run was stopped there'
log_lacks alignment_is_not_blamed 'alignment:'

ends_with sound_run_has_no_finding 0 "$bin" diagnose "$dir/sound"
log_has words_are_shown '6\.0 % of 500 words were heard wrong, in the recordings 5\.0 %'
ends_with log_alone_is_enough 0 "$bin" diagnose "$dir/unheard/log.jsonl"
log_has nobody_listened 'nobody listened'
ends_with overfitting_is_a_finding 1 "$bin" diagnose "$dir/overfitted" --output "$dir/report.txt"
log_has overfitting_has_its_step 'overfitting: .* since step 2500'
grep -q 'since step 2500' "$dir/report.txt"
verdict report_is_written $?
ends_with findings_as_json 1 "$bin" diagnose "$dir/deaf" --json
python3 - "$dir/log" <<'P'
import json, sys
text = open(sys.argv[1]).read()
o = json.loads(text[text.index("{"):])
f = {v["cause"]: v for v in o["findings"]}
assert list(f) == ["alignment", "words"], list(f)
assert f["alignment"]["step"] == 6000 and f["alignment"]["clips"] == []
assert "90.0 %" in f["words"]["evidence"] and f["words"]["advice"]
assert o["facts"]["words_wrong"] == 450
P
verdict json_has_causes_and_numbers $?
ends_with needs_a_run 3 "$bin" diagnose "$dir/none"
mkdir "$dir/empty"
ends_with needs_a_log 3 "$bin" diagnose "$dir/empty"
log_has says_what_is_missing 'neither a log nor a checkpoint'
ends_with one_run_at_a_time 2 "$bin" diagnose "$dir/sound" "$dir/deaf"
ends_with recordings_without_a_checkpoint 3 "$bin" diagnose "$dir/sound" --data-path "$dir/none"
exit $failed
