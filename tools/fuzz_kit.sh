#!/usr/bin/env bash
# Lies in a folder made by `tools/run_fuzz.sh --kit`, with the programs and what they need: runs every target for SECONDS in all, on CORES
# cores, the targets side by side and again with other random numbers until each core has had its share. Findings, logs and a summary are
# in $OUT (default: out).      ./run.sh SECONDS CORES      Exit 1 on a finding.
set -u
cd "$(dirname "$0")"
seconds=${1:-60} cores=${2:-$(nproc)} out=${OUT:-out}
mkdir -p "$out"
loader=$(ls lib/ld-linux-*)
fuzz_one() { # name, which of its runs
    local log="$out/log-$1-$2" tmp
    tmp=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)" fuzz-XXXXXX)
    mkdir -p "$tmp/corpus" "$out/findings-$1"
    cp -r "corpus-$1/." "$tmp/corpus/"
    TMPDIR=$tmp UBSAN_OPTIONS=print_stacktrace=1 "$loader" --library-path lib "bin/fuzz_$1" -max_total_time="$seconds" \
        "$(cat "bin/fuzz_$1.options")" -timeout=10 -rss_limit_mb=3000 -seed="$2" -artifact_prefix="$out/findings-$1/" \
        -print_final_stats=1 "$tmp/corpus" >"$log" 2>&1 </dev/null
    echo $? >"$log.rc"
    # A log is long only when something broke.
    if [ "$(cat "$log.rc")" = 0 ]; then tail -12 "$log" >"$log.short" && mv "$log.short" "$log"; fi
    rm -rf "$tmp"
}
export -f fuzz_one
export seconds out loader
names=(bin/fuzz_*)
for i in "${!names[@]}"; do names[i]=$(basename "${names[i]}" | sed 's/^fuzz_//; s/\.options$//'); done
mapfile -t names < <(printf '%s\n' "${names[@]}" | sort -u)
rounds=$(((cores + ${#names[@]} - 1) / ${#names[@]}))
for r in $(seq "$rounds"); do for n in "${names[@]}"; do echo "$n $r"; done; done | head -n "$((cores > ${#names[@]} ? cores : ${#names[@]}))" |
    xargs -P "$cores" -L1 bash -c 'fuzz_one "$@"' _
failed=0
for rc in "$out"/log-*.rc; do
    log=${rc%.rc}
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    if [ "$(cat "$rc")" = 0 ]; then
        echo "${log##*/log-}: ${runs:-?} runs, no findings"
    else
        echo "${log##*/log-}: ${runs:-?} runs, FINDING:"
        grep -E 'ERROR|runtime error|assertion|SUMMARY|Test unit written' "$log" | head -8 | sed 's/^/    /'
        grep -E '^ +#[0-9]+ ' "$log" | head -12
        failed=1
    fi
done | tee "$out/summary.txt"
! grep -q FINDING "$out/summary.txt"
