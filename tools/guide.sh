#!/usr/bin/env bash
# The guides: docs/GUIDE.md and its translations docs/*/GUIDE.md hold text and commands; this script runs every command once and puts what it
# prints below it, in all of them. usage:
#   tools/guide.sh [BUILD]             run the commands, write their outputs into the guides
#   tools/guide.sh --check [BUILD]     run them and say which fail, and where the words of an output have changed; compare the languages
#   tools/guide.sh --languages         only compare: translations have the same commands, outputs and names as the English pages
# A command is a line "$ ..." in a block that begins with a bare ```; what follows it, up to the next command or the end of the block, is its
# output. Blocks with anything behind the ``` stay as they are; the first ```yaml block becomes my.yaml. Needs the corpus and the voice of
# `make demo` in build/demo. Exit 0: all well, 1: a command failed or the languages differ, 3: there is no build/demo.
set -eu
cd "$(dirname "$0")/.."
guide=docs/GUIDE.md
translations=$(find docs -mindepth 2 -name GUIDE.md | sort)
mode="write"
case ${1:-} in --check | --languages) mode=${1#--} && shift ;; esac
build=$(realpath "${1:-build}")

# --- the same in every language ---

blocks() { awk '/^```/ { inside = !inside; if (!inside) print ""; next } inside' "$1"; }
# Names and commands within the text: `...`, wherever they stand in a sentence.
# shellcheck disable=SC2016
names() { awk '/^```/ { inside = !inside; next } !inside' "$1" | grep -o '`[^`]*`' | sort; }
# Everything between two numbers stays as it is; numbers vary from run to run.
words() { sed -E 's/[-+]?[0-9]+([.,][0-9]+)*(e[-+]?[0-9]+)?/0/g; s/ +/ /g' "$1"; }

compare_languages() {
    local differ=0 page english
    for page in $(find docs -mindepth 2 -name '*.md' -not -path 'docs/examples/*' | sort); do
        english=docs/$(basename "$page")
        if ! diff <(blocks "$english") <(blocks "$page") >"$work/difference"; then
            differ=1
            echo "guide: $page has other commands or outputs than $english:"
            head -20 "$work/difference"
        fi
        if ! diff <(names "$english") <(names "$page") >"$work/difference"; then
            differ=1
            echo "guide: $page has other names in its text than $english:"
            head -20 "$work/difference"
        fi
    done
    [ "$differ" = 1 ] || echo "guide: the languages have the same commands, outputs and names"
    return "$differ"
}

# --- running ---

# Every command of the guide, one a line.
commands() { awk '/^```/ { inside = !inside && $0 == "```"; open = !open; if (!open) inside = 0; next } inside && /^\$ / { print substr($0, 3) }' "$guide"; }
# What the guide says now of command $1 (by its number).
said() {
    awk -v want="$1" '/^```/ { inside = !open && $0 == "```"; open = !open; take = 0; next }
        inside && /^\$ / { take = ++n == want; next } inside && take' "$guide"
}

# Runs them in a folder that looks like the root of the project, so that nothing is left behind. Progress and the choice of the device are
# left out of the outputs.
run_all() {
    local line n=0 rc
    cd "$work/place"
    while IFS= read -r line; do
        n=$((n + 1)) rc=0
        echo "guide: $line" >&2
        timeout 300 bash -c "$line" >"$work/raw" 2>&1 </dev/null || rc=$?
        grep -vE '^(observing|aligning|speaking|preparing|hearing|validating|text|mel|reading) .*(left|clips/s|batches/s|others)|^device: cpu|%\), .* left$' "$work/raw" |
            sed 's/[ \t]*$//' >"$work/out.$n" || true
        if [ $rc -gt 1 ]; then
            failed=$((failed + 1))
            echo "guide: '$line' ended with $rc:"
            cat "$work/raw"
        fi
    done <"$work/commands"
    cd "$root"
    count=$n
}

# The guide $1 with new outputs; a translation finds them by the command.
fill() {
    awk -v list="$work/commands" -v folder="$work" '
        BEGIN { while ((getline line <list) > 0) number[line, ++seen[line]] = ++n }
        /^```/ { inside = !open && $0 == "```"; open = !open; skip = 0 }
        skip && !/^\$ / { next }
        { print; skip = 0 }
        inside && /^\$ / {
            command = substr($0, 3)
            skip = 1
            if (!((command, ++used[command]) in number)) { print "guide: no such command in English: " command >"/dev/stderr"; exit 1 }
            file = folder "/out." number[command, used[command]]
            while ((getline line <file) > 0) print line
            close(file)
        }' "$1" >"$work/filled" && cat "$work/filled" >"$1"
}

root=$PWD work=$(mktemp -d) failed=0 count=0
trap 'rm -rf "$work"' EXIT
if [ "$mode" = languages ]; then
    compare_languages
    exit
fi
[ -f "$build/demo/run/best.safetensors" ] || { echo "guide: build/demo is not there; make demo makes it" >&2 && exit 3; }
mkdir "$work/place"
ln -s "$build" "$work/place/build"
ln -s "$root/configs" "$work/place/configs"
export PATH=$build:$PATH
awk '/^```yaml$/ { inside = 1; next } /^```/ && inside { exit } inside' "$guide" >"$work/place/my.yaml"
commands >"$work/commands"
# As `make demo` leaves it, whatever was tried since.
myxtts prepare --quiet --config configs/demo.yaml --data-path "$build/demo" >"$work/raw" 2>&1 || [ $? = 1 ] || { cat "$work/raw" && exit 3; }
run_all
if [ "$mode" = check ]; then
    differ=0
    for i in $(seq "$count"); do
        said "$i" >"$work/said"
        diff <(words "$work/said") <(words "$work/out.$i") >"$work/difference" && continue
        echo "guide: other words than the guide has, from '$(sed -n "${i}p" "$work/commands")':"
        head -12 "$work/difference"
    done
    compare_languages || differ=1
    echo "guide: $count commands, $failed failed"
    [ "$failed" = 0 ] && [ "$differ" = 0 ] && [ "$count" -gt 20 ]
    exit
fi
[ "$failed" = 0 ] || exit 1
for page in $guide $translations; do fill "$page"; done
echo "guide: $count commands, their outputs are in $guide $translations"
