#!/usr/bin/env bash
# Fails on files that clang-format would change, and on files of src and tests with more than 800 lines.
set -eu
cd "$(dirname "$0")/.."
longest=800

# Outside a git checkout (an unpacked archive) every source file counts.
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    list=$(git ls-files --cached --others --exclude-standard -- '*.c' '*.h' '*.cc' '*.cu')
else
    list=$(find . -path ./build -prune -o \( -name '*.c' -o -name '*.h' -o -name '*.cc' -o -name '*.cu' \) -print | sed 's|^\./||')
fi
files=()
while IFS= read -r f; do
    [ -f "$f" ] && files+=("$f") # a file that was deleted and not yet committed is still listed
done <<<"$list"
if [ "${#files[@]}" = 0 ]; then
    echo "check_format: no source files found" >&2
    exit 1
fi

bad=0
clang-format --dry-run -Werror -- "${files[@]}" 2>&1 | grep ': error:' | cut -d: -f1 | sort | uniq -c |
    awk '{ print $2 ": clang-format would change " $1 " places (make format)"; n++ } END { exit n > 0 }' || bad=1
for f in "${files[@]}"; do
    case $f in
    src/* | tests/*)
        lines=$(wc -l <"$f")
        if [ "$lines" -gt "$longest" ]; then
            echo "$f: $lines lines, the most is $longest"
            bad=1
        fi
        ;;
    esac
done
[ "$bad" = 0 ] || exit 1
echo "ok: ${#files[@]} files are formatted and none is over $longest lines"
