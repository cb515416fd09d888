#!/usr/bin/env bash
# What clang warns of in src, tests and bench, with the warnings that the Makefile asks gcc for: two compilers see more than one.
# unused-function: gcc looks too, and knows that an inline one may be for other units of its source. unknown-pragmas: vector loops have pragmas of gcc. string-plus-int: the table of settings and a test mean what they write.
set -eu
cd "$(dirname "$0")/.."
command -v clang >/dev/null || { echo "check_warnings: clang is needed (Debian: clang)" >&2 && exit 3; }
warnings="$(sed -n 's/^WARN := //p' Makefile) -Wno-unknown-warning-option -Wno-unused-function -Wno-unknown-pragmas -Wno-string-plus-int"
export flags="-fsyntax-only -Werror -D_GNU_SOURCE -Isrc -Itests $warnings $(pkg-config --cflags $(sed -n 's/^PKGS := //p' Makefile)) -pthread"
check() { # unit, source, flags: a line of `make units`
    # shellcheck disable=SC2086 # lists of flags
    case $2 in
    *.cc) clang++ -std=c++17 -fsyntax-only -Wall -Wextra -Werror -Isrc "$2" ;;
    src/*) clang -std=gnu11 $flags -Wcomma "${@:3}" "$2" ;;
    *) clang -std=gnu11 $flags "${@:3}" "$2" ;;
    esac
}
export -f check
others=$(find tests bench -name '*.c' -not -path 'tests/gpu/*' | sort)
if { make -s --no-print-directory units && for f in $others; do echo "- $f"; done; } |
    xargs -P "$(nproc)" -L1 bash -c 'check "$@" || exit 1' _; then
    echo "ok: clang has no warning in src, tests and bench"
else
    exit 1
fi
