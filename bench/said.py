#!/usr/bin/env python3
"""Share of lines that are read as a person reads them, by section of a table of tests/data.

    bench/said.py --binary build/myxtts --language en [--show] tests/data/english_said.tsv
    bench/said.py --binary build/myxtts [--show] [--only "written before"] tests/data/read-aloud.tsv

A table has what is written, a tab, and what is said (several readings: a tab between them). Words are
compared as in tests/text/test_said.c. In read-aloud.tsv format and language stand before that, and pauses count, as
in tests/text/test_reading.c; a binary without --text-format reads all as plain text. --show prints the lines that
are read in another way."""
import argparse
import json
import re
import subprocess

PAUSES = ".,;:!?\u060c\u061b\u061f\u2014\u2026"


def words_of(text):
    text = text.replace(".", "").lower()
    return re.sub(r"[^0-9a-z'&#@/%$+=\u0080-\U0010ffff]+", " ", text).strip()


def words_and_pauses_of(text):
    text = re.sub(f"[{PAUSES}]+", " | ", text.lower())
    text = re.sub(r"[^0-9a-z'&#@/%$+=*<>~|\u0080-\U0010ffff]+", " ", text)
    return re.sub(r"\|( \|)+", "|", text).strip(" |")


def read_table(path):
    section, lines = "", []
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if line.startswith("##"):
            section = line.strip("# ")
        elif "\t" in line and not line.startswith("#"):
            lines.append((section, line.split("\t")))
    return lines


def phonemize(binary, language, text, more=()):
    cleaner = "english" if language == "en" else "multilingual"
    command = [binary, "phonemize", "--json", "--quiet", "--language", language, "--text-cleaners", cleaner,
               "--num-workers", "0", *more]
    out = subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return [json.loads(line)["text"] for line in out.splitlines()]


def unescape(text):
    return re.sub(r"\\(n|\\)", lambda m: "\n" if m[1] == "n" else "\\", text)


def read_aloud(binary, columns, formats):
    """A text of many lines is one, and its format is given."""
    text = unescape(columns[2])
    more = ["--text-format", columns[0]] if formats else []
    return " ".join(phonemize(binary, columns[1], "", [*more, "--text", text]))


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--binary", default="build/myxtts")
    p.add_argument("--language", default="en")
    p.add_argument("--show", action="store_true")
    p.add_argument("--only", default="", help="sections whose name begins so")
    p.add_argument("table")
    args = p.parse_args()
    lines = [line for line in read_table(args.table) if line[0].startswith(args.only)]
    aloud = args.table.endswith("read-aloud.tsv")
    if aloud:
        usage = subprocess.run([args.binary, "phonemize", "--help"], text=True, stdout=subprocess.PIPE).stdout
        said = [read_aloud(args.binary, columns, "--text-format" in usage) for _, columns in lines]
    else:
        said = phonemize(args.binary, args.language, "".join(c[0] + "\n" for _, c in lines), ["-"])
    form = words_and_pauses_of if aloud else words_of
    counts = {}
    for (section, columns), cleaned in zip(lines, said):
        written = columns[2 if aloud else 0]
        readings = columns[3 if aloud else 1:]
        right = form(cleaned) in [form(reading) for reading in readings]
        for name in [section] + ([f"{section}: {columns[0]}", f"{section}: {columns[1]}"] if aloud else []):
            count = counts.setdefault(name, [0, 0])
            count[0] += right
            count[1] += 1
        if args.show and not right:
            print(f"{written}\n  ours   {cleaned}\n  reader {readings[0]}")
    for section, (right, total) in counts.items():
        print(f"{right:4} of {total:4} right ({100 * right / total:.1f} %)  {section}")


main()
