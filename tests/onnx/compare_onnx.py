#!/usr/bin/env python3
"""An exported graph in ONNX Runtime beside `myxtts synth`, run by tests/onnx/test_onnx_sound.sh.
    compare_onnx.py NAME PROGRAM CHECKPOINT VOCODER FILE.onnx PIPER.onnx [settings of phonemize]
PIPER.onnx, the same voice for Piper's programs, has to say the same as FILE.onnx.
Prints a line `ok NAME` or `not ok NAME` for each check; exit code 1 when one fails."""
import importlib.util
import json
import subprocess
import sys
import tempfile
import wave

import numpy as np
import onnxruntime

CLOSE = 1e-3  # of the loudest sample
ROUNDING = 2 / 32768  # of the WAV file
PAD, BOS, EOS, BLANK = range(4)
SENTENCES = ["Good morning, everybody.", "The quick brown fox jumps over the lazy dog, and then it goes home to its five small children.", "No."]
failed = False


def verdict(name, well, why=""):
    global failed
    print(f"{'ok' if well else 'not ok'} {name} {why}".rstrip())
    failed |= not well


def tokens(program, text, language, settings):
    said = subprocess.run([program, "phonemize", "--text", text, "--language", language, "--json", "--quiet", *settings], check=True, capture_output=True)
    return json.loads(said.stdout)["tokens"]


def synth(program, checkpoint, vocoder, text, how):
    """Samples, and how many parts they were made in."""
    options = [word for name, value in how.items() if value is not None for word in ("--" + name, str(value))]
    with tempfile.NamedTemporaryFile(suffix=".wav") as f:
        said = subprocess.run([program, "synth", text, "--checkpoint", checkpoint, "--vocoder", vocoder, "--model-gpu", "cpu", "--output", f.name, "--json",
                               "--quiet", *options], check=True, capture_output=True).stdout
        with wave.open(f.name) as w:
            return np.frombuffer(w.readframes(w.getnframes()), np.int16) / 32768, json.loads(said)["parts"]


def speak(session, symbols, speaker, how, language):
    inputs = {"symbols": np.array([symbols], np.int64), "speed": np.array([how["speed"]], np.float32), "pitch": np.array([how["pitch"]], np.float32),
              "speaker": np.array([speaker], np.int64)}
    if "language" in [i.name for i in session.get_inputs()]:
        inputs["language"] = np.array([language], np.int64)
    return session.run(["sound", "frames"], inputs)


def compare(name, program, checkpoint, vocoder, path, settings):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    about = session.get_modelmeta().custom_metadata_map
    hop, languages = int(about["hop_length"]), json.loads(about["languages"])
    cases = [(number, speaker, language) for number, speaker in enumerate(json.loads(about.get("speakers", "[]")) or [None]) for language in range(len(languages))]
    for i, (number, speaker, language) in enumerate(cases):
        text = SENTENCES[i % len(SENTENCES)]
        how = {"speed": (1, 1.3, 0.8)[i % 3], "pitch": (0, -2, 3)[i % 3], "speaker": speaker or None, "language": languages[language]}
        wanted, parts = synth(program, checkpoint, vocoder, text, how)
        while parts > 1:  # longer than what a small voice says at once
            text = text[:len(text) // 2]
            wanted, parts = synth(program, checkpoint, vocoder, text, how)
        symbols = tokens(program, text, languages[language], settings)
        sound, frames = speak(session, symbols, number, how, language)
        worst = np.abs(sound - wanted).max() if len(sound) == len(wanted) else np.inf
        who = f"{name}_{speaker or 'nobody'}_{languages[language]}"
        verdict(f"{who}_speaks_as_the_program", worst < CLOSE * np.abs(wanted).max() + ROUNDING and wanted.std() > 1e-4,
                f"(largest difference {worst:.2g} of {np.abs(wanted).max():.2g}, {len(sound)} and {len(wanted)} samples)")
        verdict(f"{who}_has_frames_for_each_symbol", len(frames) == len(symbols) and frames.min() >= 1 and (frames.sum() - 1) * hop == len(sound))


def compare_piper(name, program, path, piper_path, settings):
    """Pads of Piper's programs are blanks of the voice, or nothing; what is behind the length does not count."""
    plain, piper = (onnxruntime.InferenceSession(p, providers=["CPUExecutionProvider"]) for p in (path, piper_path))
    about = plain.get_modelmeta().custom_metadata_map
    blanks, language = int(about["blanks"]), json.loads(about["languages"]).index(about["language"])
    symbols = tokens(program, "Good morning.", about["language"], settings)
    spoken = [s for s in symbols[1:-1] if s != BLANK or not blanks]
    ids = [BOS, PAD] + [i for s in spoken for i in (s, PAD)] + [EOS]
    inputs = {"input": np.array([ids + [spoken[0]] * 5], np.int64), "input_lengths": np.array([len(ids)], np.int64), "scales": np.array([0.6, 2, 0.8], np.float32)}
    if "sid" in [i.name for i in piper.get_inputs()]:
        inputs["sid"] = np.zeros(1, np.int64)
    output, output_frames = piper.run(["output", "frames"], inputs)
    sound, frames = speak(plain, symbols, 0, {"speed": 0.5, "pitch": 0}, language)
    verdict(f"{name}_says_the_same_to_piper", output.shape == (1, 1, 1, len(sound)) and np.array_equal(output.ravel(), sound))
    silent = [i for i, s in enumerate(ids) if s == PAD and (i == 1 or not blanks)]
    verdict(f"{name}_has_no_frames_for_pads", len(output_frames) == len(ids) and not output_frames[silent].any()
            and np.array_equal(np.delete(output_frames, silent), frames))


def main():
    name, program, checkpoint, vocoder, path, piper_path = sys.argv[1:7]
    compare(name, program, checkpoint, vocoder, path, sys.argv[7:])
    compare_piper(name, program, path, piper_path, sys.argv[7:])
    if importlib.util.find_spec("onnx"):
        import onnx
        onnx.checker.check_model(path, full_check=True)
        verdict(f"{name}_is_valid_to_the_checker_of_onnx", True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
