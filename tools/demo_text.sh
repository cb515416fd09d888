#!/usr/bin/env bash
# Short English sentences that share their words, so that a voice can learn each word from several of them and then say sentences it
# has not heard: tools/demo_text.sh N [FILE] prints N lines `demo-0001|text|text`, none of them in FILE (one sentence a line). The same
# on every machine.
set -eu
export LC_ALL=C
case ${1:-} in '' | *[!0-9]* | ??????*)
    echo "usage: tools/demo_text.sh N [FILE]" >&2
    exit 2
    ;;
esac
awk -v want="$1" -v held_out="${2:-}" '
BEGIN {
    list("person", "farmer teacher doctor sailor singer driver painter baker soldier writer nurse captain student stranger king queen")
    list("kin", "mother father sister brother uncle cousin daughter son friend neighbor")
    list("animal", "dog cat horse bird cow sheep rabbit fox mouse goat duck chicken")
    list("thing", "boat letter basket table window picture ladder blanket lamp clock mirror bottle bucket hammer book chair carpet coat jacket ring key box cup knife spoon door")
    list("things", "boats letters baskets tables pictures blankets lamps bottles books chairs coats keys boxes cups spoons apples eggs flowers stones trees")
    list("place", "river church bridge station market harbor forest school kitchen mountain village tower valley library hospital castle garden house street lake")
    list("color", "red green blue white black yellow brown gray")
    list("kind", "old young tall quiet happy angry tired little clever friendly hungry careful")
    list("how", "old new heavy broken empty narrow bright dirty silver wooden small large long cheap warm")
    list("did", "found carried painted cleaned opened bought sold dropped moved watched saw made took lost wanted forgot")
    list("go", "find carry paint clean open buy sell drop move watch see make take hide bring")
    list("ran", "waited slept laughed worked walked listened danced shouted smiled returned stayed")
    list("when", "today again yesterday alone outside early later twice quickly slowly")
    list("near", "near behind beside under above opposite")
    list("count", "two three four five six seven eight nine ten twelve")
    list("who", "she he they we you")
    n_forms = split("the kind person did the how thing|the color thing is near the place|please go the how thing|my kin did count color things|who did the color things in the place|" \
        "count kind animal-s ran when near the place|where is the color thing of the person|why did the person go the things|the animal ran when|" \
        "my kin and my kin ran in the place|who ran with the kind animal|can you go my how thing when|there are count how things in the place|" \
        "the thing of my kin is color|do not go the thing near the place|the color animal and the color animal ran|is the how thing near the place|" \
        "i did a color thing for my kin", form, "|")
    if (held_out != "") while ((getline line <held_out) > 0) seen[key(line)] = 1
    state = 20261115
    for (made = 0; made < want;) {
        text = sentence(form[1 + made % n_forms])
        if (key(text) in seen) continue
        seen[key(text)] = 1
        printf "demo-%04d|%s|%s\n", ++made, text, text
    }
}
function list(name, text,    part, i) {
    size[name] = split(text, part, " ")
    for (i = 1; i <= size[name]; i++) word[name, i] = part[i]
}
function random(n) { # 0 .. n - 1; Lehmer, exact in double
    state = (state * 16807) % 2147483647
    return int(state / 2147483647 * n)
}
function pick(name,    i, k, w) { # every word once, in random order, then all of them again
    if (!left[name]) left[name] = size[name]
    k = 1 + random(left[name])
    i = left[name]--
    w = word[name, k]
    word[name, k] = word[name, i]
    word[name, i] = w
    return w
}
function key(text) {
    text = tolower(text)
    gsub(/[^a-z ]/, "", text)
    return text
}
function sentence(f,    part, n, i, w, plural, text) {
    n = split(f, part, " ")
    for (i = 1; i <= n; i++) {
        w = part[i]
        plural = sub(/-s$/, "", w)
        if (w in size && !(f ~ /^why did/ && w == "did") && !(f ~ /^where is/ && w == "of")) w = pick(w)
        if (plural) w = w == "mouse" ? "mice" : w == "sheep" ? w : w == "fox" ? "foxes" : w "s"
        text = text (i > 1 ? " " : "") (w == "i" ? "I" : w)
    }
    return toupper(substr(text, 1, 1)) substr(text, 2) (f ~ /^(where|why|can|is)/ ? "?" : ".")
}'
