#!/usr/bin/env python3
"""An exported graph in ONNX Runtime beside `myxtts synth`, run by tests/onnx/test_onnx_sound.sh.
    compare_onnx.py PROGRAM CHECKPOINT FILE.onnx
Prints a line `ok NAME` or `not ok NAME` for each check; exit code 1 when one fails."""
import importlib.util
import json
import subprocess
import sys
import tempfile
import wave

import numpy as np
import onnxruntime

CLOSE = 1e-3  # of the samples, which are from -1 to 1
SENTENCES = ["Good morning, everybody.", "No.", "The quick brown fox jumps over the lazy dog, and then it goes home to its five small children."]
failed = False


def verdict(name, well, why=""):
    global failed
    print(f"{'ok' if well else 'not ok'} {name} {why}".rstrip())
    failed |= not well


def tokens(program, text):
    said = subprocess.run([program, "phonemize", "--text", text, "--json", "--quiet"], check=True, capture_output=True).stdout
    return json.loads(said)["tokens"]


def synth(program, checkpoint, text, speaker, speed, pitch):
    with tempfile.NamedTemporaryFile(suffix=".wav") as f:
        subprocess.run([program, "synth", text, "--checkpoint", checkpoint, "--model-gpu", "cpu", "--speaker", speaker, "--speed", str(speed), "--pitch",
                        str(pitch), "--output", f.name, "--quiet"], check=True, capture_output=True)
        with wave.open(f.name) as w:
            return np.frombuffer(w.readframes(w.getnframes()), np.int16) / 32768


def speak(session, symbols, speaker, speed, pitch):
    return session.run(["sound", "frames"], {"symbols": np.array([symbols], np.int64), "speed": np.array([speed], np.float32),
                                             "pitch": np.array([pitch], np.float32), "speaker": np.array([speaker], np.int64)})


def main():
    program, checkpoint, path = sys.argv[1:]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    about = session.get_modelmeta().custom_metadata_map
    speakers = json.loads(about["speakers"])
    hop = int(about["hop_length"])
    for number, speaker in enumerate(speakers):
        text, speed, pitch = SENTENCES[number % len(SENTENCES)], (1, 1.3, 0.8)[number % 3], (0, -2, 3)[number % 3]
        symbols = tokens(program, text)
        sound, frames = speak(session, symbols, number, speed, pitch)
        wanted = synth(program, checkpoint, text, speaker, speed, pitch)
        same_length = len(sound) == len(wanted)
        worst = np.abs(sound - wanted).max() if same_length else np.inf
        verdict(f"{speaker}_speaks_as_the_program", worst < CLOSE, f"(largest difference {worst:.2g}, {len(sound)} and {len(wanted)} samples)")
        verdict(f"{speaker}_has_frames_for_each_symbol", len(frames) == len(symbols) and frames.min() >= 1 and (frames.sum() - 1) * hop == len(sound))
    if importlib.util.find_spec("onnx"):
        import onnx
        onnx.checker.check_model(path, full_check=True)
        verdict("the_checker_of_onnx_agrees", True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
