#!/usr/bin/env bash
# Plain English of any length, to see whether a voice loses words in long text. The same arguments give the same text, everywhere.
#   tools/long_text.sh N WORDS       N lines, each a sentence of exactly WORDS words (3 or more)
#   tools/long_text.sh --chars N     one line of exactly N characters (100 or more), sentences of 6 to 24 words
set -eu
export LC_ALL=C
usage() {
    echo "usage: tools/long_text.sh N WORDS | --chars N" >&2
    exit 2
}
number() { case $1 in '' | *[!0-9]* | ??????????*) usage ;; esac }
[ $# = 2 ] || usage
number "$2"
if [ "$1" = --chars ]; then
    count=0 words=0 chars=$2
    [ "$chars" -ge 100 ] || usage
else
    number "$1"
    count=$1 words=$2 chars=0
    [ "$words" -ge 3 ] || usage
fi

awk -v count="$count" -v words="$words" -v chars="$chars" '
BEGIN {
    person = list("farmer teacher doctor sailor singer driver painter baker soldier writer nurse captain student stranger king queen", "person")
    thing = list("boat letter basket table garden window picture ladder blanket lamp clock mirror bottle bucket hammer book chair carpet", "thing")
    place = list("river church bridge station market harbor forest school kitchen mountain village tower valley library hospital castle", "place")
    kind = list("old young tall quiet happy angry tired little clever friendly hungry careful", "kind")
    green = list("old new heavy yellow green broken empty narrow bright dirty silver wooden", "green")
    found = list("found carried painted cleaned opened repaired bought sold dropped moved watched remembered forgot wanted noticed covered", "found")
    waited = list("waited slept laughed worked walked listened danced shouted smiled returned", "waited")
    quietly = list("quietly slowly alone again outside upstairs yesterday early later twice", "quietly")
    near = list("near behind beside below above opposite", "near")
    she = list("she he they we", "she")
    joint = list("_and _but while because until after before", "joint")
    state = 20261115 + words + chars
    if (chars) long_text()
    for (i = 0; i < count; i++) print sentence(words)
}
function list(text, name,    part, n, i) {
    n = split(text, part, " ")
    for (i = 1; i <= n; i++) word[name, i] = part[i]
    size[name] = n
    return name
}
function random(n) { # 0 .. n - 1; Lehmer, exact in double
    state = (state * 16807) % 2147483647
    return int(state / 2147483647 * n)
}
function one(name) { return word[name, 1 + random(size[name])] }
function the(name) { return "the " one(name) }
function the_old(name) { return "the " one(name == person ? kind : green) " " one(name) }
function clause(n) { # of n words, 3 .. 10
    if (n == 3) return one(she) " " one(waited) " " one(quietly)
    if (n == 4) return the(person) " " one(waited) " " one(quietly)
    if (n == 5) return the(person) " " one(found) " " the(thing)
    if (n == 6) return the_old(person) " " one(found) " " the(thing)
    if (n == 7) return the_old(person) " " one(found) " " the_old(thing)
    if (n == 8) return the(person) " " one(found) " " the(thing) " " one(near) " " the(place)
    if (n == 9) return the_old(person) " " one(found) " " the(thing) " " one(near) " " the(place)
    return the_old(person) " " one(found) " " the_old(thing) " " one(near) " " the(place)
}
function sentence(n,    first, left, k, text, join) {
    do first = 3 + random(8); while (first != n && first > n - 4)
    text = clause(first)
    for (left = n - first; left > 0; left -= k) {
        do k = 4 + random(8); while (k != left && k > left - 4)
        join = one(joint)
        text = text (sub(/^_/, "", join) ? ", " : " ") join " " clause(k - 1)
    }
    return toupper(substr(text, 1, 1)) substr(text, 2) "."
}
function long_text(    text, s, left) {
    for (left = chars; left > 0;) {
        s = sentence(6 + random(19))
        if (text != "") s = " " s
        # The last one has to fit exactly: short sentences have any length from some 20 to 90 characters.
        if (length(s) != left && length(s) > left - 60) continue
        text = text s
        left -= length(s)
    }
    print text
}'
