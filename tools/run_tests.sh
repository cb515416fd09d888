#!/usr/bin/env bash
# Runs every test: the programs tests/test_*.c (cmocka), the scripts tests/test_*.sh, the checks of the sources; then the programs
# again with the sanitizers. The last line is the sum; exit 1 when something failed.
#   tools/run_tests.sh [--long] [part of a name]
# --long: all sanitizers, the scripts with them too, and MYXTTS_LONG=1 for more kills and every byte. A name runs only the tests
# that have it in theirs (programs also when one of their tests has), without the sanitizer builds unless --long is given too.
set -u
cd "$(dirname "$0")/.."
long=0 filter=
for a in "$@"; do
    case $a in
    --long) long=1 ;;
    -*)
        echo "usage: tools/run_tests.sh [--long] [part of a name]" >&2
        exit 2
        ;;
    *) filter=$a ;;
    esac
done
[ "$long" = 0 ] || export MYXTTS_LONG=1
if [ -z "${MYXTTS_DATA:-}" ] && [ -d ../shared/data ]; then
    MYXTTS_DATA=$(cd ../shared/data && pwd)
    export MYXTTS_DATA
fi
export LC_ALL=C.UTF-8
limit=300
[ "$long" = 0 ] || limit=1800
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

wanted() { # name: has it the filter in it?
    case $1 in *"$filter"*) return 0 ;; esac
    return 1
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
    wanted "$2" || grep -qE -- "cmocka_unit_test.*\(test_[a-z0-9_]*$filter" "tests/$(basename "$1").c" || return 0
    run "$log" "$1"
    rc=$?
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
    local log="$root/log" rc ok bad skips start=$SECONDS
    wanted "$2" || return 0
    run "$log" "$1"
    rc=$?
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
    local name log="$root/log"
    name=$(basename "$1" .sh)
    wanted "$name" || return 0
    if run "$log" "$1"; then
        passed=$((passed + 1))
        echo "ok     $name: $(tail -1 "$log" | sed 's/^ok: //')"
    else
        failure "$name" "findings" "$log"
    fi
}

run_scripts() { # label
    local script
    for script in tests/test_*.sh; do run_script "$script" "$1$(basename "$script" .sh)"; done
}

build_variant() { # label, arguments of make
    local label=$1
    shift
    echo "building the tests with $label"
    if ! make -s --no-print-directory -j2 NVCC= "$@" >"$root/build.log" 2>&1; then
        failure "build with $label" "make failed" "$root/build.log"
        return 1
    fi
}

# The programs of a build folder, two at a time; those whose times are looked at, or that start processes of their own, come alone
# at the end. The counters of each go through a file.
alone=" test_compare test_device test_doctor test_from_voice test_monitor test_pipeline_settings test_prepare_kill test_prepare_ranks \
test_ranks test_ranks_doctor test_serve_hostile test_sim test_train_faults test_train_moments test_train_ranks test_walls "
count_programs() { # files with counters
    local ok bad skips name
    for f in "$@"; do
        { read -r ok bad skips; while IFS= read -r name; do names_failed+=("$name"); done; } <"$f"
        passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skips))
    done
}
run_programs() { # build folder, label
    local source name
    rm -f "$root"/side-*
    export MYXTTS_OUT=$1 MYXTTS_BIN=$1/myxtts
    for source in tests/test_*.c; do
        name=$(basename "$source" .c)
        case $alone in *" $name "*) continue ;; esac # by the sources: what was built from one that is gone does not count
        (
            passed=0 failed=0 skipped=0 names_failed=()
            run_program "$1/tests/$name" "$2$name" >"$root/side-$name.out"
            cat "$root/side-$name.out"
            { echo "$passed $failed $skipped" && [ "$failed" = 0 ] || printf '%s\n' "${names_failed[@]}"; } >"$root/side-$name.sum"
        ) &
        while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done
    done
    wait
    count_programs "$root"/side-*.sum
    for name in $alone; do [ ! -f "tests/$name.c" ] || run_program "$1/tests/$name" "$2$name"; done
    return 0
}

run_programs build ""
run_scripts ""
for check in tools/check_layers.sh tools/check_house.sh tools/check_unused.sh tools/check_format.sh tools/check_static.sh; do
    [ -f "$check" ] && run_check "$check"
done

# Halting on the first report makes it a failed test; huge sizes that are refused on purpose are not a report.
export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1:halt_on_error=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=allocator_may_return_null=1:halt_on_error=1:second_deadlock_stack=1
if [ "$long" = 1 ]; then
    for v in asan ubsan tsan; do
        build_variant $v VARIANT=$v programs && run_programs build/$v "$v/" && run_scripts "$v/"
    done
elif [ -z "$filter" ]; then
    # Both in one go, in a folder of their own: their objects do not mix with those of VARIANT=asan.
    targets=()
    for source in tests/test_*.c; do targets+=("build/check/tests/$(basename "$source" .c)"); done
    build_variant "the address and the undefined sanitizer" VARIANT=asan OUT=build/check LDFLAGS=-fsanitize=undefined \
        CFLAGS="-fsanitize=undefined -fno-sanitize-recover=all" build/check/myxtts "${targets[@]}" && run_programs build/check "check/"
fi

if [ "$failed" != 0 ]; then
    echo
    printf 'failed: %s\n' "${names_failed[@]}"
fi
sum="$passed passed, $failed failed"
[ "$skipped" = 0 ] || sum="$sum, $skipped skipped"
echo "$sum"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
