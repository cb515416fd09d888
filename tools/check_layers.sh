#!/usr/bin/env bash
# Fails when a file in src/X includes a header of a folder that stands after X in the order below: the folders are the path of
# one sentence from disk to a weight update, and nothing may look downstream. src/main.c may include anything.
# shellcheck disable=SC2016 # the awk program is in single quotes on purpose
set -eu
cd "$(dirname "$0")/.."
order="base config device ranks picture dataset text audio judge cache pipeline ops model voice onnx studio train diag corpus lib page serve cmd"

find src -mindepth 2 -type f \( -name '*.c' -o -name '*.h' -o -name '*.cc' -o -name '*.cu' \) | sort | xargs awk -v order="$order" '
    BEGIN {
        n = split(order, names, " ")
        for (i = 1; i <= n; i++)
            rank[names[i]] = i
    }
    FNR == 1 {
        split(FILENAME, parts, "/")
        own = parts[2]
        folder = FILENAME
        sub(/\/[^\/]*$/, "", folder)
        files++
        if (!(own in rank)) {
            print FILENAME ": src/" own " is not in the order of folders (" order ")"
            bad++
        }
    }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
        header = $0
        sub(/^[^"]*"/, "", header)
        sub(/".*/, "", header)
        if (index(header, "..")) {
            print FILENAME ":" FNR ": \"" header "\": write it from src/, without .."
            bad++
        } else if (split(header, h, "/") > 1) {
            if (!(h[1] in rank)) {
                print FILENAME ":" FNR ": \"" header "\": there is no folder src/" h[1] " in the order"
                bad++
            } else if (rank[h[1]] > rank[own]) {
                print FILENAME ":" FNR ": src/" own " includes \"" header "\", which stands after it"
                bad++
            }
        } else if ((getline line < (folder "/" header)) < 0) {
            print FILENAME ":" FNR ": \"" header "\" is not in " folder
            bad++
        } else {
            close(folder "/" header)
        }
    }
    END {
        if (bad)
            exit 1
        print "ok: " files " files include only what stands before them"
    }' || exit 1 # xargs has a code of its own
