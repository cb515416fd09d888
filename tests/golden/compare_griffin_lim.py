#!/usr/bin/env python3
"""Compares our mel -> audio with librosa's (feature.inverse.mel_to_stft + griffinlim), on clips of ljspeech-mini and on made tones.

Both get the same log mels. For each, the mel of the resulting samples is computed by librosa in double precision and compared with the
given one: mean of |log - log|, smaller is closer. Exit code 1 when ours is farther than librosa's on the speech or on the tones.
Every clip is given half as loud as it is: ours is limited to -1 .. 1 by making the whole clip softer, librosa's is not, and clips with
peaks near 1 come out of both with higher ones (LJ001-0017: 0.97 becomes 1.23 and 1.28). The limit would count as a difference in every band.
Needs librosa, soundfile, numpy and build/bench/griffin_lim (make programs)."""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

import librosa
import numpy as np
import soundfile

STFT = dict(n_fft=1024, hop_length=256, win_length=1024)
RATE = 22050
FLOOR = 1e-5
BASIS = librosa.filters.mel(sr=RATE, n_fft=1024, n_mels=80, fmin=0, fmax=8000, dtype=np.float64)


def log_mel(y):
    stft = librosa.stft(y.astype(np.float64), window="hann", center=True, pad_mode="reflect", dtype=np.complex128, **STFT)
    return np.log(np.maximum(BASIS @ np.abs(stft), FLOOR))


def theirs(mel, length, iterations):
    magnitude = librosa.feature.inverse.mel_to_stft(np.exp(mel), sr=RATE, n_fft=1024, power=1.0, fmin=0, fmax=8000)
    return librosa.griffinlim(magnitude, n_iter=iterations, momentum=0.99, init="random", random_state=1, length=length, **STFT)


def make_tones(folder):
    """a chord, a chirp, a buzz, noise in bursts; one second each"""
    t = np.arange(RATE) / RATE
    rng = np.random.default_rng(3)
    tones = {
        "chord": 0.2 * sum(np.sin(2 * np.pi * f * t) for f in (220, 277.2, 329.6, 440)),
        "chirp": 0.5 * np.sin(2 * np.pi * (100 * t + 3000 * t * t)),
        "buzz": 0.02 * sum(np.cos(2 * np.pi * 120 * k * t) for k in range(1, 60)),
        "bursts": 0.3 * rng.standard_normal(RATE) * (np.sin(2 * np.pi * 4 * t) > 0),
    }
    for name, y in tones.items():
        soundfile.write(os.path.join(folder, name + ".wav"), np.clip(y, -1, 1), RATE, subtype="PCM_16")
    return [os.path.join(folder, name + ".wav") for name in tones]


def compare(name, paths, args, folder):
    soft = []
    for path in paths:
        y, _ = soundfile.read(path, dtype="float32")
        soft.append(os.path.join(folder, "soft-" + os.path.basename(path)))
        soundfile.write(soft[-1], 0.5 * y, RATE, subtype="FLOAT")
    done = subprocess.run([args.program, str(args.iterations), "--write", folder, *soft], check=True, capture_output=True, text=True)
    result = json.loads(done.stdout)
    ours, librosas, values, closer = 0.0, 0.0, 0, 0
    for path in soft:
        y, _ = soundfile.read(path, dtype="float32")
        given = log_mel(y)
        mine = np.load(os.path.join(folder, os.path.basename(path) + ".npy"))[0]
        assert np.abs(mine).max() <= 1.0
        got, other = log_mel(mine), log_mel(theirs(given, mine.size, args.iterations))
        assert got.shape == given.shape and other.shape == given.shape
        a, b = np.abs(got - given).sum(), np.abs(other - given).sum()
        ours, librosas, values, closer = ours + a, librosas + b, values + given.size, closer + (a < b)
    ours, librosas = ours / values, librosas / values
    print(f"{name}: {len(paths)} clips, {args.iterations} iterations: mean |log mel difference| ours {ours:.4f}, librosa {librosas:.4f}; "
          f"ours closer on {closer} of {len(paths)}; our real-time factor {result['rtf']:.4f}")
    return ours <= librosas


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/bench/griffin_lim")
    parser.add_argument("--data", default=os.environ.get("MYXTTS_DATA", "../shared/data"), help="folder with ljspeech-mini")
    parser.add_argument("--iterations", type=int, default=32)
    parser.add_argument("--clips", type=int, default=32, help="how many of the clips of speech")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tones = compare("tones", make_tones(folder), args, folder)
        speech = sorted(glob.glob(os.path.join(args.data, "ljspeech-mini", "wavs", "*.wav")))[: args.clips]
        good = compare("speech", speech, args, folder) if speech else True
        if not speech:
            print(f"SKIPPED: no clips under {args.data}/ljspeech-mini/wavs")
    return 0 if tones and good else 1


sys.exit(main())
