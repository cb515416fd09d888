#!/usr/bin/env python3
"""Our phonemes beside phonemizer's on all 13,100 lines of LJSpeech: the share of equal lines, and every line that differs.

    compare_phonemes.py [--program build/myxtts] [--data FOLDER_WITH_ljspeech-text] [--column 3] [--json]

Exit code 0 when at least 99 % are equal, 1 otherwise. Needs: pip install phonemizer.
"""
import argparse
import json
import os
import subprocess
import sys

from make_phonemes import backend, lines_of_ljspeech, speak


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/myxtts")
    parser.add_argument("--data", default=os.environ.get("MYXTTS_DATA", "../shared/data"))
    parser.add_argument("--column", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()

    rows = list(lines_of_ljspeech(args.data, args.column))
    text = "".join(line + "\n" for _, line in rows).encode()
    run = subprocess.run([args.program, "phonemize", "--language", "en-us", "-"], input=text, stdout=subprocess.PIPE, check=True)
    ours = run.stdout.decode().split("\n")[:-1]
    if len(ours) != len(rows):
        sys.exit(f"{len(rows)} lines in, {len(ours)} lines out")

    english = backend("en-us")
    differing = []
    for (name, line), mine in zip(rows, ours):
        theirs = speak(english, line)
        if theirs != mine:
            differing.append({"id": name, "text": line, "ours": mine, "phonemizer": theirs})
    share = 1 - len(differing) / len(rows)
    if args.json:
        print(json.dumps({"lines": len(rows), "equal": len(rows) - len(differing), "share": share, "differing": differing},
                         ensure_ascii=False))
    else:
        for d in differing:
            print(f"{d['id']}: {d['text']}\n  ours        {d['ours']}\n  phonemizer  {d['phonemizer']}")
        print(f"{len(rows) - len(differing)} of {len(rows)} lines equal ({100 * share:.2f} %)")
    return 0 if share >= 0.99 else 1


if __name__ == "__main__":
    sys.exit(main())
