#!/usr/bin/env bash
# Fails on global symbols of src/ that only tests use: no command, no other file of src/ and no benchmark
# refers to them, and their own file does not mention them again. Reads the objects of a finished build.
#   tools/check_unused.sh [build folder]
set -eu
cd "$(dirname "$0")/.."
out=${1:-build}

# Doors that are there for tests on purpose, each with its reason.
doors='
griffin_lim_use_instructions  tests hold the variants for every processor against each other
mel_use_instructions          the same
mel_filterbank                tests hold the filters against golden values
ops_host_f64                  exact arithmetic that the tests hold gradients and other ops against
event_log_path                the name holds a time; tests look for the file
'

objects=()
declare -A source_of
while read -r unit source _; do # by the sources: what was built from one that is gone does not count
    object=$out/obj/$unit.o
    if [ ! -f "$object" ]; then
        echo "not there: $object (make programs)"
        exit 1
    fi
    objects+=("$object")
    source_of[$object]=$source
done < <(make -s --no-print-directory units && echo src/main src/main.c)
users=()
for f in "$out"/obj/bench/*.o "$out"/obj/bench/support/*.o "$out"/obj/src/*/*/*.cu.o "$out"/obj/src/*/*.cu.o; do [ ! -f "$f" ] || users+=("$f"); done

work=$(mktemp -d "${TMPDIR:-/tmp}/check-unused-XXXXXX")
trap 'rm -rf "$work"' EXIT
nm -A -g --defined-only "${objects[@]}" | awk '$NF !~ /[.]/ { print $NF, $1 }' | sort >"$work/defined"
nm -A -g --undefined-only "${objects[@]}" "${users[@]}" | awk '{ print $NF }' | sort -u >"$work/used"
# What the C library shows is there for other people's programs.
grep -oE '\bmyxtts_[a-z_]+\(' src/lib/myxtts.h | tr -d '(' >>"$work/used"
echo "$doors" | awk 'NF { print $1 }' >>"$work/used"
echo main >>"$work/used"

bad=0
while read -r symbol object; do
    source=${source_of[${object%%:*}]}
    # Without its comments. A second mention is a use: calls inside a file often leave no trace in the object.
    mentions=$([ ! -f "$source" ] || cc -fpreprocessed -dD -E -P "$source" 2>/dev/null | grep -ow -- "$symbol" | wc -l)
    [ "${mentions:-0}" -lt 2 ] || continue
    echo "$source: $symbol is used by nothing but tests"
    bad=1
done < <(awk 'NR == FNR { used[$1] = 1; next } !($1 in used)' "$work/used" "$work/defined")
[ "$bad" = 0 ] || exit 1
echo "ok: $(wc -l <"$work/defined") global symbols, none for tests alone"
