#!/usr/bin/env bash
# Counts what docs/STYLE.md and docs/DESIGN.md promise of the source, and fails where it does not hold.
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8
tour=docs/DESIGN.md
bad=0
fail() { # text, list
    bad=1
    echo "FAILED: $1"
    [ -z "${2:-}" ] || printf '%s\n' "$2" | head -20 | sed 's/^/    /'
}
verdict() { # what is wrong (nothing: all is well), the sentence then, the sentence otherwise
    if [ -z "$1" ]; then echo "ok: $2"; else fail "$3" "$1"; fi
}
sources() { find "$@" -name '*.c' -o -name '*.h' -o -name '*.cc' -o -name '*.cu' | sort; }

# --- reading ---
long=$(sources src tests bench | xargs grep -nP '^.{111,}' | cut -c1-100 || true)
verdict "$long" "no line is over 110 characters" "lines over 110 characters"

nameless=$(sources src | while read -r f; do
    head -1 "$f" | grep -qE "^/\* $(basename "$f") - .{8}" || echo "$f"
done)
verdict "$nameless" "every file of src begins with what it is for" "files that do not begin with /* NAME - what it is for */"

# A function in a header: a body that begins in the first column, or behind a signature on one line. Macros that
# make a function inline count as the word.
inline=$(sources src | xargs grep -hoE '^#define [A-Z_]+ .*(inline|__device__)' | awk '{ print $2 }' | sort -u | paste -sd'|')
bodies=$(find src -name '*.h' | sort | xargs awk -v inline="inline|__global__|__device__|$inline" '
    FNR == 1 { signature = "" }
    /^(#|\/\/|\/\*| \*|$)/ { signature = ""; next }
    /^\{/ {
        if (signature ~ /\(/ && signature !~ inline && signature !~ /typedef|struct [A-Za-z]+ *$/)
            print FILENAME ":" FNR ": " signature
        signature = ""
        next
    }
    /^[A-Za-z_].*\).*\{.*\}/ && $0 !~ inline && !/#define|= *\{/ { print FILENAME ":" FNR ": " $0 }
    /;[ ]*(\/\*.*)?$/ || /^\}/ { signature = ""; next }
    { signature = signature $0 }')
verdict "$bodies" "headers of src define no function that is not inline or of the GPU" "functions defined in headers"

# --- one home ---
home() { # what, pattern, most files, folders to look in, files that may
    local found
    found=$(sources src | xargs grep -lE "$2" | grep -vE "${4:-^$}" || true)
    if [ "$(printf '%s\n' "$found" | grep -c .)" -le "$3" ]; then
        echo "ok: $1: $(printf '%s' "$found" | tr '\n' ' ')"
    else
        fail "$1 stands in more than $3 file(s)" "$found"
    fi
}
kinds=$(sources src | grep -v '^src/device/' | xargs grep -nE 'DEVICE_(HOST|CUDA|SIM)\b|ops->kind\b' || true)
n=$(printf '%s' "$kinds" | grep -c . || true)
[ "$n" -ge 8 ] || kinds=
verdict "$kinds" "$n questions about a device's kind outside of src/device" "$n questions about a device's kind outside of src/device"
codes=$(sources src | while read -r f; do
    n=0
    for code in de fr es fa zh ru ja; do if grep -q "\"$code\"" "$f"; then n=$((n + 1)); fi; done
    [ $n -lt 3 ] || echo "$f"
done)
if [ "$(printf '%s\n' "$codes" | grep -c .)" = 1 ]; then echo "ok: the languages stand in $codes"; else fail "language codes stand in several files" "$codes"; fi
home "the floor of a mel" 'define [A-Z_]*FLOOR[A-Z_]* +[0-9(]*1e-5' 1
home "how much a slowed clip is stretched" '1 */ *\(1 *- *[a-z>.-]*augment_speed\)|/ *\(1 *- *[a-z>.-]*augment_speed\)' 1
home "how many slots a pipeline has" 'AUTO_ROWS|64 */ *\([a-z>.-]*batch_size' 1
home "settings that caches and checkpoints depend on" 'hasher_[a-z0-9]+\([^;]*cfg->|BINDS\(BOUND_' 1

# --- the locale of others ---
# printf("%f"), strtod and tolower follow the thread's locale. Threads of ours have the plain one (base/thread.c),
# and so has a caller of the library while it is in it.
guarded=$(awk '
    /^(int|char \*) *myxtts_[a-z_]+\(/ { name = $0; at = FNR; fails = 0 }
    name && /myxtts_error \*/ { fails = 1 }
    name && /;$/ { name = "" }
    name && /^\{/ { getline; if (fails && $0 !~ /PLAIN_LOCALE;/) print FILENAME ":" at ": " name; name = "" }' src/lib/*.c)
verdict "$guarded" "functions of the library that can fail begin with PLAIN_LOCALE" "functions of the library that depend on the caller's locale"
threads=$(sources src | grep -v '^src/base/thread.c$' | xargs grep -nE '\b(pthread_create|thrd_create|setlocale) *\(' || true)
verdict "$threads" "threads are started by base/thread.c, and nobody sets a locale" "threads or locales besides base/thread.c"
casing=$(sources src | xargs grep -nE '\b(u_strTo(Lower|Upper|Title)|unum_open|ubrk_open|ucol_open|ucasemap_open)\([^;]*(NULL, &status|"", &status)' | grep -v 'unum_open(.*code' || true)
verdict "$casing" "ICU is told the language" "ICU would take the language of the environment"

# --- both languages ---
# What people read of findings and verdicts stands in src/base/words, in English and Persian. In the files that write it, a string of
# three words or more is an error, a line of the log, or HTML; and every row of the table is used.
said=$(for f in src/diag/pipeline/doctor*.c src/diag/pipeline/swings.c src/diag/pipeline/watch.c src/diag/voice/*.c \
    src/diag/report/{charts,html,report,sections}.c; do
    awk -v file="$f" '
        !/^#/ { text = text $0 "\n" }
        END {
            gsub(/\/\*([^*]|\*[^\/])*\*\//, " ", text)
            n = length(text)
            for (i = 1; i <= n; i++) {
                c = substr(text, i, 1)
                if (c == "\"") {
                    if (inside && string ~ /[a-z]+ [a-z]+ [a-z]+/ && string !~ /</) sentence = string
                    inside = !inside
                    string = ""
                } else if (inside) {
                    string = string c
                    if (c == "\\") string = string substr(text, ++i, 1)
                } else if (c ~ /[;{}]/) {
                    if (sentence && call !~ /err_set|err_hint|log_(warn|info|debug|error)|static_assert/) print file ": " sentence
                    call = sentence = ""
                } else
                    call = call c
            }
        }' "$f"
done)
verdict "$said" "findings and verdicts are said in both languages" "sentences of findings outside of src/base/words"
unsaid=$(comm -23 <(grep -rhoE '^(WORD|COUNTED)\(SAY_[A-Z0-9_]+' src/base/words | sed 's/.*(//' | sort -u) \
    <(sources src | grep -v '^src/base/words/[a-z]*\.h$' | xargs grep -hoE 'SAY_[A-Z0-9_]+' | sort -u))
verdict "$unsaid" "every sentence of src/base/words is said somewhere" "sentences of src/base/words that nobody says"

# --- the tour ---
tree=$(awk '/^```/ { inside = !inside; next } inside && /^src\/[a-z]+\// { sub(/^src\//, ""); sub(/\/.*/, ""); print }' $tour)
disk=$(find src -mindepth 1 -maxdepth 1 -type d -printf '%f\n')
verdict "$(diff <(printf '%s\n' "$tree" | sort) <(printf '%s\n' "$disk" | sort) || true)" "the tour's tree is the tree on disk" "the tree in $tour is not that of src"
order=$(sed -n 's/^order="\(.*\)"$/\1/p' tools/check_layers.sh)
verdict "$(diff <(printf '%s\n' "$tree") <(printf '%s\n' "${order// /$'\n'}") || true)" "it has the order of the layers" "the order in $tour is not that of tools/check_layers.sh"
for folder in $disk; do grep -q "\`$folder\`" src/README.md || fail "src/README.md does not name $folder"; done

walks=$(awk '/^## / { inside = /^## From / } inside' $tour | grep -oE '`[a-z][a-z0-9]*_[a-z0-9_]+`|`(guard|adamw)`' | tr -d '`' | sort -u)
missing=$(for f in $walks; do
    sources src | xargs grep -qE "(^|[ *])(\(\*)?$f\)?\(" || echo "$f"
done)
[ -n "$walks" ] || missing="no function at all"
verdict "$missing" "the $(printf '%s\n' "$walks" | wc -l) functions of the two walks exist" "functions that $tour names and src does not have"
paths=$(awk '/^## / { inside = /^## Where do I change/ } inside' $tour | grep -oE '`(src|tools|docs|configs|tests)/[A-Za-z0-9_./*-]+`' | tr -d '`' | sort -u)
[ -n "$paths" ] || gone="no file at all"
[ -z "$paths" ] || gone=$(for p in $paths; do compgen -G "$p" >/dev/null || echo "$p"; done)
verdict "$gone" "the files of 'Where do I change' exist" "files that $tour names and that are not there"
exit $bad
