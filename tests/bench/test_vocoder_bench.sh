#!/usr/bin/env bash
# bench/vocoder with stand-ins for the program and for the judges of sound: which files are judged, the table, the verdict, what is kept.
set -u
voice=$(realpath -m "${MYXTTS_OUT:-build}/bench/voice")
. tests/support/shell.sh

ends_with wrong_use_without_a_vocoder 2 bench/vocoder --out "$dir/out" --recordings "$dir" --text "$dir/text"
if ! command -v flite >/dev/null || ! "$voice" --check 2>/dev/null; then
    echo "skip vocoder_bench SKIPPED: there is no flite, no recogniser or no $voice"
    exit $failed
fi
MYXTTS_OUT=$(dirname "$(dirname "$voice")")
export MYXTTS_OUT MYXTTS_BIN=$dir/myxtts MYXTTS_JUDGES_PYTHON=$dir/judges

# Three lines, of which the second is not among the held-out ones.
mkdir -p "$dir/data/wavs"
printf 'a|Please open the large window.\nb|Have you seen my blue jacket?\nc|It is in the kitchen.|It is in the kitchen.|slt\n' >"$dir/data/metadata.csv"
while IFS='|' read -r id text _; do flite -voice slt -t "$text" -o "$dir/data/wavs/$id.wav"; done <"$dir/data/metadata.csv"
grep -v '^b' "$dir/data/metadata.csv" >"$dir/data/held.csv"

# A vocoder that copies; judges that find what they are told to.
cat >"$dir/myxtts" <<'END'
#!/usr/bin/env bash
echo "$*" >>"$(dirname "$0")/calls"
shift
files=()
while [ "$1" != --output ]; do
    files+=("$1")
    shift
done
cp "${files[@]}" "$2"
END
cat >"$dir/judges" <<'END'
#!/usr/bin/env python3
import json, os, sys
folders = sys.argv[2:]
figures = {f: {n: {"dnsmos": 3.0} for n in sorted(os.listdir(folders[0]))} for f in folders}
for i, f in enumerate(folders[1:]):
    for k, n in enumerate(figures[f]):
        figures[f][n] = {"dnsmos": 3.0 - 0.1 * i, "pesq": 2.5 + i + 0.2 * k}
print(json.dumps(figures))
END
chmod +x "$dir/myxtts" "$dir/judges"
judge() { bench/vocoder --out "$dir/out" --data "$dir/data" --metadata held.csv --checkpoint "$dir/run/vocoder" "$@"; }
ends_with a_good_vocoder_is_well 0 judge
log_has the_table_has_the_recordings '^  recordings +0\.0 % +3\.00'
log_has the_table_has_griffin_lim '^  Griffin-Lim +2\.60 '
log_has the_table_has_the_vocoder_by_its_run '^  run +3\.60 +0\.0 % +2\.90 +well'
files="$dir/out/recordings/01.wav $dir/out/recordings/02.wav"
printf 'vocode %s --output %s\n' "$files" "$dir/out/griffin-lim/run --vocoder griffin_lim --checkpoint $dir/run/vocoder" \
    "$files" "$dir/out/spoken/run --checkpoint $dir/run/vocoder" | cmp -s - "$dir/calls" && cmp -s "$dir/data/wavs/c.wav" "$dir/out/spoken/run/02.wav" &&
    cmp -s "$dir/data/wavs/c.wav" "$dir/out/recordings/02.wav" && [ -s "$dir/out/griffin-lim/run/02.wav" ]
verdict the_held_out_clips_are_vocoded_and_kept $?
python3 - "$dir/out/vocoder.json" <<'END'
import json, sys
j = json.load(open(sys.argv[1]))
c = j["files"][1]
sys.exit(not (j["passed"] and len(j["files"]) == 2 and c["recording"] == "c.wav" and c["text"] == "It is in the kitchen." and
              c["run"] == {"dnsmos": 2.9, "pesq": 3.7, "wrong": 0, "words": 5} and j["rows"]["run"]["pesq"] == 3.6))
END
verdict the_figures_of_each_file_are_kept $?

# Copies that are there already; one of them says something else.
mkdir "$dir/swapped"
cp "$dir/data/wavs/a.wav" "$dir/swapped/c.wav"
ends_with a_copy_is_missing 3 judge --copies "$dir/swapped"
log_has the_missing_copy_is_named 'swapped/a\.wav'
cp "$dir/data/wavs/a.wav" "$dir/swapped/a.wav"
ends_with other_words_are_not_well 1 judge --copies wrong="$dir/swapped"
log_has the_words_are_counted '^  wrong .* [1-9][0-9.]* % .*points more words wrong than in the recordings'
ends_with too_low_a_pesq_is_not_well 1 judge --least-pesq 3.7
log_has too_low_a_pesq_is_said '^  run .*PESQ under 3\.7'
ends_with too_low_a_dnsmos_is_not_well 1 judge --most-dnsmos 0.05
log_has too_low_a_dnsmos_is_said '^  run .*DNSMOS more than 0\.05 below'
ends_with better_than_griffin_lim_by_two_of_three 1 judge --beat-griffin-lim
log_has what_is_no_better_is_named "^  run .*  DNSMOS no better than Griffin-Lim's\$"
ends_with two_of_a_name_are_refused 2 judge --copies run="$dir/swapped"
printf '#!/bin/sh\necho "the vocoder has another mel" >&2\nexit 3\n' >"$dir/myxtts"
ends_with a_vocoder_that_fails 3 judge
log_has a_vocoder_that_fails_is_quoted 'another mel'
exit $failed
