#!/usr/bin/env bash
# Chooses sentences that cover the sounds of a language, for `myxtts serve --record`, and prints them, the richest first:
#   tools/rich_sentences.sh [--running] LANGUAGE COUNT [LEAVE_OUT] <TEXT
# TEXT has one sentence a line; with --running it is running text, which is cut into sentences first. A sentence is taken into account if
# it has 4 to 14 words, is easy to read aloud (no digits, brackets, quotation marks, abbreviations) and matches no line of the file LEAVE_OUT (extended
# regular expressions). Each next one is the one that adds most pairs of neighbouring sounds, as espeak-ng speaks them, for its length;
# a pair counts less each time it comes again, and not at all if it is in fewer than RARE sentences (4): that is mostly a foreign name.
#
# The lists of the program (src/serve/sentences) were made so; their heads have the commands.
set -eu
cd "$(dirname "$0")/.."
bin=${MYXTTS_BIN:-build/myxtts}
running=0
if [ "${1:-}" = --running ]; then
    running=1
    shift
fi
if [ $# -lt 2 ] || [ ! -x "$bin" ]; then
    echo "usage: tools/rich_sentences.sh [--running] LANGUAGE COUNT [LEAVE_OUT] <TEXT  ($bin must be built)" >&2
    exit 2
fi
language=$1 count=$2 leave_out=${3:-/dev/null}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export LC_ALL=C

# Sentences end at a full stop, a question mark or an exclamation mark before a blank and a capital letter.
split() {
    if [ $running = 1 ]; then
        tr '\n' ' ' | sed -E 's/ +/ /g; s/(^| )(Mr|Mrs|Dr|St|Rev|Messrs|Hon|Capt|Sir|[A-Z])\. /\1\2.~/g; s/([.?!]) ([A-Z])/\1\n\2/g; s/~/ /g'
    else
        cat
    fi
}
# Words are counted by blanks. In languages with capital letters a sentence begins with one; a full stop within it is an abbreviation.
split | sed -E 's/^ +//; s/ +$//' | grep -vE $'[][0-9()"*_/<>|:;]|--|[.?!].*[.?!]|[A-Z][A-Z]|^[a-z]|\xe2\x80[\x9c-\x9f]|\xc2[\xab\xbb]' | grep -E $'([.?!]|\xd8\x9f)$' |
    grep -vEf "$leave_out" | awk 'NF >= 4 && NF <= 14 && !seen[$0]++' >"$dir/sentences"
"$bin" phonemize --language "$language" --quiet "$dir/sentences" >"$dir/phonemes"

paste -d'\t' "$dir/phonemes" "$dir/sentences" | awk -F'\t' -v count="$count" -v rare="${RARE:-4}" '
{
    # Characters of UTF-8 apart, without stress and punctuation; marks of length and the like belong to the sound before them.
    s = $1
    gsub(/\313[\210\214]|[][ ,.?!;:\047()-]|\330[\214\237]/, "", s)
    gsub(/[\300-\377][\200-\277]*|[!-\177]/, " &", s)
    gsub(/ \313\220/, "\313\220", s)
    gsub(/ \312[\260\262]/, "+", s)
    gsub(/ \314[\200-\277]/, "~", s)
    n = split(s, sound, " ")
    if (n < 8) next
    rows++
    text[rows] = $2
    length_of[rows] = n
    pairs = ""
    before = "#"
    for (i = 1; i <= n + 1; i++) {
        now = i > n ? "#" : sound[i]
        pair = before "/" now
        if (last[pair] != rows) in_sentences[pair]++
        last[pair] = rows
        pairs = pairs " " pair
        before = now
    }
    pairs_of[rows] = pairs
    bound[rows] = 1e9
}
function gain(r,   n, i, part, sum, here) {
    n = split(pairs_of[r], part, " ")
    sum = 0
    for (i = 1; i <= n; i++) {
        if (in_sentences[part[i]] < rare) continue
        here[part[i]]++
        sum += 1 / (times[part[i]] + here[part[i]]) ^ 2
    }
    return sum / (length_of[r] + 10)
}
END {
    # What a sentence adds only shrinks: one whose old figure is not the best need not be looked at again.
    for (chosen = 0; chosen < count && chosen < rows; chosen++) {
        best = 0
        for (r = 1; r <= rows; r++) {
            if (taken[r] || (best && bound[r] <= bound[best])) continue
            bound[r] = gain(r)
            if (!best || bound[r] > bound[best]) best = r
        }
        taken[best] = 1
        n = split(pairs_of[best], part, " ")
        for (i = 1; i <= n; i++) if (!times[part[i]]++ && in_sentences[part[i]] >= rare) covered++
        print text[best]
    }
    for (pair in in_sentences) all += in_sentences[pair] >= rare
    printf "%d sentences of %d have %d of %d pairs of sounds\n", chosen, rows, covered, all >"/dev/stderr"
}'
