#!/usr/bin/env bash
# Runs the tests: the programs tests/*/test_*.c (cmocka), the scripts tests/*/test_*.sh, the checks of the sources. What took longest
# is told at the end (build/test-costs has all of it: `make test-costs`); the last line is the sum; exit 1 when something failed.
#   tools/run_tests.sh [--long | --programs] [part of a name]
# --long: those that take long instead (random kills, ranks in several processes and hosts, documents as printed), then every program
# with the sanitizers for addresses and undefined behaviour, then with the one for threads. MYXTTS_LONG=1: more kills, every byte.
# --programs: the C programs alone, where nothing else is there. MYXTTS_TEST_PATIENCE=10: a test may take ten times as long.
# A name runs only the tests that have it in theirs (programs also when one of their tests has), long or not; with --long under the
# sanitizers too.
set -u
cd "$(dirname "$0")/.."
long=0 filter= only_programs=0
for a in "$@"; do
    case $a in
    --long) long=1 ;;
    --programs) only_programs=1 ;;
    -*)
        echo "usage: tools/run_tests.sh [--long | --programs] [part of a name]" >&2
        exit 2
        ;;
    *) filter=$a ;;
    esac
done
if [ -z "${MYXTTS_DATA:-}" ] && [ -d ../shared/data ]; then
    MYXTTS_DATA=$(cd ../shared/data && pwd)
    export MYXTTS_DATA
fi
export LC_ALL=C.UTF-8
limit=$((300 * ${MYXTTS_TEST_PATIENCE:-1}))
[ "${MYXTTS_LONG:-0}" != 1 ] || limit=1800
passed=0 failed=0 skipped=0
names_failed=()
root=$(mktemp -d "${TMPDIR:-/tmp}/myxtts-tests-XXXXXX")
chmod 755 "$root"
# A test that was killed may leave a small disk of its own mounted in there.
clean() {
    grep -o " $root[^ ]*" /proc/mounts 2>/dev/null | while read -r m; do umount -l "$m"; done
    chmod -R u+rwX "$1" 2>/dev/null
    rm -rf "$1"
}
trap 'clean "$root"' EXIT
trap 'exit 130' INT TERM
[ -n "$filter" ] || echo "A line for each test program and script as it ends; what fails says why at once. The last line is the sum."

# What takes long, and what looks at times or starts processes of its own and so has the machine to itself.
long_ones=" test_cluster test_dist test_prepare_kill test_prepare_ranks test_ranks_diagnose test_ranks_hosts test_ranks_mpi test_swings \
test_tools_doc test_train_faults test_train_moments "
alone=" test_cluster test_compare test_device test_doctor test_from_voice test_monitor test_pipeline_settings test_prepare_kill \
test_prepare_ranks test_ranks test_ranks_diagnose test_ranks_doctor test_ranks_hosts test_ranks_mpi test_serve_hostile test_sim \
test_swings test_terminal test_train_faults test_train_moments test_train_ranks test_walls "

wanted() { # name: has it the filter in it?
    case $1 in *"$filter"*) return 0 ;; esac
    return 1
}
in_turn() { # name, label: is it among those of this run?
    [ -z "$filter$2" ] || return 0
    case $long_ones in *" $1 "*) [ $long = 1 ] ;; *) [ $long = 0 ] ;; esac
}
costs() { # name, second it began: what it took, two at a time or not
    echo "$((SECONDS - $2)) $1" >>"$root/costs"
}
failure() { # name, why, log
    failed=$((failed + 1))
    names_failed+=("$1")
    echo "FAILED $1: $2"
    sed 's/^/    /' "$3" | tail -60
}
run() { # log, command...: with a temporary folder of its own
    local log=$1 tmp
    shift
    tmp=$(mktemp -d "$root/t-XXXXXX")
    chmod 755 "$tmp" # a test runs the program as another user
    TMPDIR=$tmp timeout -k 10 "$limit" "$@" >"$log" 2>&1 </dev/null
    local rc=$?
    clean "$tmp"
    return $rc
}

# One cmocka program. Each test counts by its line; a crash or a time-out is one failure more, with the test it happened in.
run_program() { # program, name shown
    local log rc ok bad skips at start=$SECONDS
    log=$(mktemp "$root/log-XXXXXX")
    wanted "$2" || grep -qE -- "cmocka_unit_test.*\(test_[a-z0-9_]*$filter" tests/*/"$(basename "$1").c" || return 0
    run "$log" "$1"
    rc=$?
    costs "$2" $start
    ok=$(grep -acE '^\[       OK \]' "$log")
    bad=$(grep -aE '^\[  FAILED  \] [A-Za-z_]' "$log" | sed 's/^\[  FAILED  \] //' | sort -u)
    skips=$(grep -aE '^\[  SKIPPED \] [A-Za-z_]' "$log" | sort -u | grep -c .)
    passed=$((passed + ok))
    skipped=$((skipped + skips))
    grep -aE '^(SKIPPED|\[   SKIP)' "$log"
    if [ $rc -ge 124 ] || { [ $rc -ne 0 ] && [ -z "$bad" ]; }; then
        at=$(grep -aE '^\[ RUN      \]' "$log" | tail -1 | sed 's/^\[ RUN      \] *//')
        case $rc in
        124 | 137) failure "$2${at:+: $at}" "took longer than $limit s" "$log" ;;
        *) failure "$2${at:+: $at}" "ended with $rc" "$log" ;;
        esac
    elif [ -n "$bad" ]; then
        while IFS= read -r at; do
            failed=$((failed + 1))
            names_failed+=("$2: $at")
        done <<<"$bad"
        echo "FAILED $2: $(echo "$bad" | tr '\n' ' ')"
        grep -avE '^\[ (RUN     |      OK) \]' "$log" | tail -60 | sed 's/^/    /'
    elif [ "$ok" = 0 ] && [ "$skips" = 0 ]; then
        failure "$2" "ran no test" "$log"
    else
        echo "ok     $2: $ok passed$([ "$skips" = 0 ] || echo ", $skips skipped") ($((SECONDS - start)) s)"
    fi
}

# One script: lines `ok NAME`, `not ok NAME`, `skip NAME reason`.
run_script() { # script, name shown
    local log rc ok bad skips start=$SECONDS
    log=$(mktemp "$root/log-XXXXXX")
    wanted "$2" || return 0
    run "$log" "$1"
    rc=$?
    costs "$2" $start
    ok=$(grep -acE '^ok ' "$log")
    bad=$(grep -aE '^not ok ' "$log" | sed 's/^not ok //')
    skips=$(grep -acE '^skip ' "$log")
    passed=$((passed + ok))
    skipped=$((skipped + skips))
    grep -aE '^skip ' "$log" | sed 's/^skip /SKIPPED: /'
    if [ -n "$bad" ]; then
        while IFS= read -r at; do
            failed=$((failed + 1))
            names_failed+=("$2: $at")
        done <<<"$bad"
        echo "FAILED $2:"
        grep -avE '^ok ' "$log" | tail -60 | sed 's/^/    /'
    elif [ $rc -ne 0 ]; then
        failure "$2" "$([ $rc = 124 ] && echo "took longer than $limit s" || echo "ended with $rc")" "$log"
    elif [ "$ok" = 0 ] && [ "$skips" = 0 ]; then
        failure "$2" "ran no test" "$log"
    else
        echo "ok     $2: $ok passed$([ "$skips" = 0 ] || echo ", $skips skipped") ($((SECONDS - start)) s)"
    fi
}

run_check() { # script
    local name log="$root/log" start=$SECONDS rc=0
    name=$(basename "$1" .sh)
    wanted "$name" || return 0
    run "$log" "$1" || rc=$?
    costs "$name" $start
    if [ $rc = 0 ]; then
        passed=$((passed + 1))
        echo "ok     $name: $(tail -1 "$log" | sed 's/^ok: //')"
    else
        failure "$name" "findings" "$log"
    fi
}

build_variant() { # label, arguments of make
    local label=$1 start=$SECONDS
    shift
    echo "building the tests with $label"
    if ! make -s --no-print-directory -j2 NVCC= "$@" >"$root/build.log" 2>&1; then
        failure "build with $label" "make failed" "$root/build.log"
        return 1
    fi
    costs "build with $label" $start
}

# A test of a build folder, program or script.
run_one() { # source, build folder, label
    local name
    case $1 in
    *.c) name=$(basename "$1" .c) && run_program "$2/tests/$name" "$3$name" ;;
    *) name=$(basename "$1" .sh) && run_script "$1" "$3$name" ;;
    esac
}
count_programs() { # files with counters
    local ok bad skips name
    for f in "$@"; do
        { read -r ok bad skips; while IFS= read -r name; do names_failed+=("$name"); done; } <"$f"
        passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skips))
    done
}
# Those of this run, two at a time; then those that come alone. The counters of a test beside another go through a file.
run_all() { # build folder, label, sources...
    local source name out=$1 label=$2 last=()
    shift 2
    rm -f "$root"/side-*
    export MYXTTS_OUT=$out MYXTTS_BIN=$out/myxtts
    for source in "$@"; do # by the sources: what was built from one that is gone does not count
        name=$(basename "${source%.*}")
        in_turn "$name" "$label" || continue
        case $alone in *" $name "*) last+=("$source") && continue ;; esac
        (
            passed=0 failed=0 skipped=0 names_failed=() side=$root/side-$(basename "$source")
            run_one "$source" "$out" "$label" >"$side.out"
            cat "$side.out"
            { echo "$passed $failed $skipped" && [ "$failed" = 0 ] || printf '%s\n' "${names_failed[@]}"; } >"$side.sum"
        ) &
        while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done
    done
    wait
    for source in "$root"/side-*.sum; do [ ! -f "$source" ] || count_programs "$source"; done
    for source in ${last[@]+"${last[@]}"}; do run_one "$source" "$out" "$label"; done
    return 0
}

programs=() scripts=(tests/*/test_*.sh)
for source in tests/*/test_*.c; do
    case $source in tests/gpu/*) ;; *) programs+=("$source") ;; esac
done
[ $only_programs = 0 ] || scripts=()
run_all build "" "${programs[@]}" ${scripts[@]+"${scripts[@]}"}
if [ $long = 0 ] && [ $only_programs = 0 ]; then
    for check in layers house unused format static warnings; do run_check "tools/check_$check.sh"; done
fi

# Halting on the first report makes it a failed test; huge sizes that are refused on purpose are not a report.
export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1:halt_on_error=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=allocator_may_return_null=1:halt_on_error=1:second_deadlock_stack=1
if [ $long = 1 ]; then
    # Two sanitizers in one build, in a folder of its own: its objects do not mix with those of VARIANT=asan.
    targets=()
    for source in "${programs[@]}"; do targets+=("tests/$(basename "$source" .c)"); done
    build_variant "the address and the undefined sanitizer" VARIANT=asan OUT=build/check LDFLAGS=-fsanitize=undefined \
        CFLAGS="-fsanitize=undefined -fno-sanitize-recover=all" build/check/myxtts "${targets[@]/#/build/check/}" &&
        run_all build/check "check/" "${programs[@]}"
    build_variant "the thread sanitizer" VARIANT=tsan build/tsan/myxtts "${targets[@]/#/build/tsan/}" &&
        run_all build/tsan "tsan/" "${programs[@]}"
fi

# A run of a few tests is no answer to what all of them take.
if [ -z "$filter" ] && [ -f "$root/costs" ]; then
    sort -rn "$root/costs" >build/test-costs
    echo "$((SECONDS / 60)) min $((SECONDS % 60)) s; what took longest, in seconds:"
    head -12 build/test-costs | awk '{ n = $1; sub(/^[0-9]+ /, ""); printf "%6d  %s\n", n, $0 }'
fi
if [ "$failed" != 0 ]; then
    echo
    printf 'failed: %s\n' "${names_failed[@]}"
fi
sum="$passed passed, $failed failed"
[ "$skipped" = 0 ] || sum="$sum, $skipped skipped"
echo "$sum"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
