#!/usr/bin/env bash
# clang-tidy over the C of src, with the checks of .clang-tidy. What was looked at without a finding is not looked at again until a source, a
# header or the checks change. usage: tools/tidy.sh
set -eu
cd "$(dirname "$0")/.."
command -v clang-tidy >/dev/null || { echo "tidy: clang-tidy is needed (Debian: clang-tidy)" >&2 && exit 3; }
export done=build/tidy
export flags="-std=gnu11 -w -D_GNU_SOURCE -Isrc $(pkg-config --cflags $(sed -n 's/^PKGS := //p' Makefile))"
mkdir -p $done
newest=$(find src .clang-tidy tools/tidy.sh \( -name '*.h' -o -name .clang-tidy -o -name tidy.sh \) -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2-)
export newest
look() { # unit, source, flags: a line of `make units`
    local mark=$done/${2//\//_}
    if [ "$mark" -nt "$2" ] && [ "$mark" -nt "$newest" ]; then return 0; fi
    # shellcheck disable=SC2086 # lists of flags
    clang-tidy --quiet "$2" -- $flags "${@:3}" 2>/dev/null && touch "$mark"
}
export -f look
# A source of several units is looked at once.
if make -s --no-print-directory units | awk '$2 ~ /\.c$/ && !seen[$2]++' | xargs -P "$(nproc)" -L1 bash -c 'look "$@" || exit 1' _; then
    echo "ok: clang-tidy has no findings in src"
else
    exit 1
fi
