#!/usr/bin/env python3
"""Share of phonemes that are wrong in everyday Persian, against transcriptions by people (ShEMO).

    bench/persian.py --binary build/myxtts --corpus DIR [--part kept|rest|all] [--show N]

DIR is the unpacked transcript.zip of github.com/mansourehk/ShEMO: "final text/ID.ort" has what was to be
said, "final script/ID.tra" what was said. 400 lines, chosen by a hash of their names, are kept aside ("kept");
rules and words are made from the others ("rest"). What is a matter of spelling does not count: stress, length,
glottal stops, doubled consonants, blanks, and which of two signs stands for a sound. The rate is that of the
edit distance. --show prints the words that cost most."""
import argparse
import collections
import hashlib
import json
import os
import re
import subprocess

SAME = [("\u04d5", "a"), ("\u00e6", "a"), ("y", "j"), ("\u0261", "g"), ("q1", "q"), ("\u0263", "q"), ("\u0262", "q"),
        ("\u027e", "r"), ("t\u0283", "c"), ("d\u0292", "J"), ("\u0251", "A"), ("\u0294", ""), ("\u02d0", ""),
        ("w", "v"), ("\u02c8", ""), ("\u02cc", "")]


def even_out(text):
    for a, b in SAME:
        text = text.replace(a, b)
    text = re.sub(r"[^a-zAJ\u0283\u0292 ]", "", text)
    return re.sub(r"([^aeiouA ])\1", r"\1", text)


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


def kept_aside(names):
    return set(sorted(names, key=lambda n: hashlib.sha256(n.encode()).hexdigest())[:400])


def read(path):
    with open(path, encoding="utf-8-sig") as f:
        return " ".join(f.read().split())


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--binary", default="build/myxtts")
    p.add_argument("--corpus", required=True)
    p.add_argument("--part", choices=("kept", "rest", "all"), default="kept")
    p.add_argument("--show", type=int, default=0)
    args = p.parse_args()
    text, script = os.path.join(args.corpus, "final text"), os.path.join(args.corpus, "final script")
    names = [n[:-4] for n in sorted(os.listdir(text)) if n.endswith(".ort")]
    kept = kept_aside(names)
    names = [n for n in names if args.part == "all" or (n in kept) == (args.part == "kept")]
    lines = [read(os.path.join(text, n + ".ort")) for n in names]
    command = [args.binary, "phonemize", "--json", "--quiet", "--language", "fa", "--text-cleaners",
               "multilingual", "--num-workers", "0", "-"]
    out = subprocess.run(command, input="\n".join(lines) + "\n", text=True, stdout=subprocess.PIPE, check=True)
    wrong = total = 0
    costly = collections.Counter()
    for name, line, answer in zip(names, lines, out.stdout.splitlines()):
        ours = even_out(json.loads(answer)["phonemes"])
        theirs = even_out(read(os.path.join(script, name + ".tra")))
        a, b = ours.replace(" ", ""), theirs.replace(" ", "")
        wrong += distance(a, b)
        total += len(b)
        words, said = ours.split(), theirs.split()
        if args.show and len(words) == len(line.split()) == len(said):
            for word, w, s in zip(line.split(), words, said):
                costly[word.strip(".،؟!?"), w, s] += distance(w, s)
    print(f"{wrong} of {total} phonemes wrong, {100 * wrong / total:.2f} %, in {len(names)} lines ({args.part})")
    for (word, w, s), cost in costly.most_common(args.show):
        print(f"{cost:4} {word} {w} {s}")


main()
