#!/usr/bin/env python3
"""Writes phonemes_en.tsv and phonemes_multi.tsv with the Python package phonemizer on this machine's libespeak-ng.

    make_phonemes.py [--data FOLDER_WITH_ljspeech-text]

phonemes_en.tsv     id, text, phonemes: the lines of sentences_en.txt, the clips of tests/data/ljspeech and every 94th line of LJSpeech (column 3)
phonemes_multi.tsv  language, text, phonemes: the lines of sentences_multi.tsv, flags of a change of language removed
Needs: pip install phonemizer. The versions used are in the first line of each file.
"""
import argparse
import logging
import os
import pathlib

import phonemizer
from phonemizer.backend import EspeakBackend

HERE = pathlib.Path(__file__).parent
VOICES = {"en": "en-us", "fr": "fr-fr", "zh": "cmn-latn-pinyin"}
SILENT = logging.getLogger("silent")
SILENT.disabled = True


def backend(voice, flags="keep-flags"):
    return EspeakBackend(voice, preserve_punctuation=True, with_stress=True, language_switch=flags, logger=SILENT)


def lines_of_ljspeech(data, column):
    with open(pathlib.Path(data) / "metadata.csv", encoding="utf-8") as f:
        for line in f:
            fields = line.rstrip("\n").split("|")
            yield fields[0], fields[column - 1]


def speak(espeak, text):
    """phonemizer returns several strings for one line where it loses count of its marks; they are kept apart by ' ## '."""
    return " ## ".join(espeak.phonemize([text], strip=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("MYXTTS_DATA", "../shared/data"))
    args = parser.parse_args()
    version = ".".join(str(v) for v in EspeakBackend.version())
    header = f"# phonemizer {phonemizer.__version__}, espeak-ng {version}\n"

    english = backend("en-us")
    with open(HERE / "phonemes_en.tsv", "w", encoding="utf-8") as out:
        out.write(header)
        own = (HERE / "sentences_en.txt").read_text(encoding="utf-8").splitlines()
        rows = [(f"own-{i + 1:03}", text) for i, text in enumerate(own)]
        rows += lines_of_ljspeech(HERE.parent / "data" / "ljspeech", 3)
        rows += [row for i, row in enumerate(lines_of_ljspeech(pathlib.Path(args.data) / "ljspeech-text", 3)) if i % 94 == 0]
        for name, text in rows:
            out.write(f"{name}\t{text}\t{speak(english, text)}\n")
    with open(HERE / "phonemes_multi.tsv", "w", encoding="utf-8") as out:
        out.write(header)
        voices = {}
        for line in (HERE / "sentences_multi.tsv").read_text(encoding="utf-8").splitlines():
            language, text = line.split("\t")
            voice = VOICES.get(language, language)
            if voice not in voices:
                voices[voice] = backend(voice, "remove-flags")
            out.write(f"{language}\t{text}\t{speak(voices[voice], text)}\n")


if __name__ == "__main__":
    main()
