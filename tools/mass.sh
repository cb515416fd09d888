#!/usr/bin/env bash
# What the source weighs: lines and functions by folder, settings, subcommands, and functions over 60 lines.
#   tools/mass.sh [--json] [--long] [tree]     --long lists the long functions; tree: another checkout
# A function is a body whose braces stand in the first column, or one that has its whole body on one line. Its
# length is counted from its signature to its closing brace.
set -eu
export LC_ALL=C
json=0 long=0
while [ $# -gt 0 ]; do
    case $1 in
    --json) json=1 ;;
    --long) long=1 ;;
    -*) echo "usage: tools/mass.sh [--json] [--long] [tree]" >&2; exit 2 ;;
    *) break ;;
    esac
    shift
done
cd "${1:-$(dirname "$0")/..}"

settings=$(grep -cE '^    (BOOL|CHOICE|DEVICE|ENUM|FLOAT|INT|INT64|INT_AUTO|LIST|PATH|STRING)\(' src/config/options.c)
subcommands=$(grep -cE '^    \{"[a-z]+", *(&|cmd_)' src/cmd/commands.c)
listed=$(git ls-files 2>/dev/null || true)
[ -n "$listed" ] || listed=$(find . -type f | sed 's/^\.\///')

printf '%s\n' "$listed" |
    grep -E '^(src|tests|bench|examples|python|tools|setup)(/|$)|^Makefile$' |
    grep -E '\.(c|h|cc|cu|cuh|py|sh|js|html|css)$|^(setup|Makefile)$|^(bench|tests)/[^.]*$' |
    grep -v '^tests/data/' | while read -r f; do [ ! -f "$f" ] || printf '%s\n' "$f"; done | sort |
    xargs awk -v json="$json" -v list="$long" -v settings="$settings" -v subcommands="$subcommands" '
    function place(file,   part, n) {
        n = split(file, part, "/")
        if (part[1] == "src" && n > 2) return "src/" part[2]
        return n > 1 ? part[1] : "."
    }
    function kind(file) {
        if (file ~ /\.cuh?$/ || file ~ /_cuda(_private)?\.h$/) return "cuda"
        if (file ~ /\.(c|h|cc)$/) return "c"
        if (file ~ /\.(js|html|css)$/) return "page"
        if (file ~ /\.py$/) return "python"
        return "scripts"
    }
    function add(at, k) { functions[at]++; by_kind[k]++ }
    FNR == 1 {
        at = place(FILENAME); k = kind(FILENAME); signature = 0; inside = 0
        code = k == "c" || k == "cuda"
        files[at]++
    }
    { lines[at]++; kind_lines[k]++ }
    !code { next }
    inside && /^\}/ {
        n = FNR - begun + 1
        if (n > 60) { over++; if (list) printf "%4d  %s:%d  %s\n", n, FILENAME, begun, name }
        inside = 0; signature = 0; next
    }
    inside { next }
    /^\{/ && signature { if (is_function) { add(at, k); inside = 1 }; next }
    /^[A-Za-z_].*\).*\{.*\}$/ && !/=/ { add(at, k); signature = 0; next }
    /^[A-Za-z_]/ { if (!signature) begun = FNR; name = $0; signature = 1; is_function = /\(/ }
    signature && /\(/ && !/^#/ { is_function = 1 }
    /;[ ]*(\/\*.*)?$/ || /^\}/ || /^#/ || /= *\{$/ { signature = 0 }
    /^(static )?(const )?(typedef |struct |union |enum )[^(]*\{$/ { signature = 0 }
    END {
        for (p in lines) names[++count] = p
        for (i = 2; i <= count; i++) {
            for (j = i; j > 1 && names[j - 1] > names[j]; j--) { t = names[j]; names[j] = names[j - 1]; names[j - 1] = t }
        }
        for (i = 1; i <= count; i++) {
            p = names[i]; total += lines[p]; all += functions[p]; f += files[p]
            if (p ~ /^src/) { src += lines[p]; src_functions += functions[p] }
        }
        if (json) {
            printf "{\"folders\": {"
            for (i = 1; i <= count; i++)
                printf "%s\"%s\": {\"files\": %d, \"lines\": %d, \"functions\": %d}", (i > 1 ? ", " : ""), names[i],
                       files[names[i]], lines[names[i]], functions[names[i]]
            printf "}, \"kinds\": {"
            m = split("c cuda page python scripts", ks, " ")
            for (i = 1; i <= m; i++) printf "%s\"%s\": %d", (i > 1 ? ", " : ""), ks[i], kind_lines[ks[i]]
            printf "}, \"src\": {\"lines\": %d, \"functions\": %d}, \"lines\": %d, \"functions\": %d, ", src, src_functions, total, all
            printf "\"functions_over_60_lines\": %d, \"settings\": %d, \"subcommands\": %d}\n", over, settings, subcommands
            exit
        }
        printf "%-16s %6s %8s %10s\n", "folder", "files", "lines", "functions"
        for (i = 1; i <= count; i++) printf "%-16s %6d %8d %10d\n", names[i], files[names[i]], lines[names[i]], functions[names[i]]
        printf "%-16s %6s %8d %10d\n%-16s %6d %8d %10d\n", "all of src", "", src, src_functions, "everything", f, total, all
        m = split("c cuda page python scripts", ks, " ")
        for (i = 1; i <= m; i++) printf "%s%s %d", (i > 1 ? ", " : "lines: "), ks[i], kind_lines[ks[i]]
        printf "\n%d settings, %d subcommands, %d functions over 60 lines\n", settings, subcommands, over
    }'
