#!/usr/bin/env python3
"""Share of lines that are read as a person reads them, by section of a table of tests/data.

    bench/said.py --binary build/myxtts --language en [--show] tests/data/english_said.tsv

A table has what is written, a tab, and what is said (several readings: a tab between them). Words are
compared as in tests/test_said.c. --show prints the lines that are read in another way."""
import argparse
import json
import re
import subprocess


def words_of(text):
    text = text.replace(".", "").lower()
    return re.sub(r"[^0-9a-z'&#@/%$+=\u0080-\U0010ffff]+", " ", text).strip()


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--binary", default="build/myxtts")
    p.add_argument("--language", default="en")
    p.add_argument("--show", action="store_true")
    p.add_argument("table")
    args = p.parse_args()
    section, lines = "", []
    for line in open(args.table, encoding="utf-8"):
        line = line.rstrip("\n")
        if line.startswith("##"):
            section = line.strip("# ")
        elif "\t" in line and not line.startswith("#"):
            lines.append((section, line.split("\t")))
    text = "".join(columns[0] + "\n" for _, columns in lines)
    cleaner = "english" if args.language == "en" else "multilingual"
    command = [args.binary, "phonemize", "--json", "--quiet", "--language", args.language,
               "--text-cleaners", cleaner, "--num-workers", "0", "-"]
    out = subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE, check=True).stdout
    counts = {}
    for (section, columns), answer in zip(lines, out.splitlines()):
        cleaned = json.loads(answer)["text"]
        right = words_of(cleaned) in [words_of(said) for said in columns[1:]]
        count = counts.setdefault(section, [0, 0])
        count[0] += right
        count[1] += 1
        if args.show and not right:
            print(f"{columns[0]}\n  ours   {cleaned}\n  reader {columns[1]}")
    for section, (right, total) in counts.items():
        print(f"{right:4} of {total:4} right ({100 * right / total:.1f} %)  {section}")


main()
