#!/usr/bin/env python3
"""Compares `myxtts mel` with librosa on every clip of ljspeech-mini.

Prints, against librosa's default (float32) and against librosa in double precision, the largest relative error
  A  of the mel values max(x, 1e-5),
  B  of their logarithms, over max(|log|, 1e-5),
and how many of all elements are over 1e-4. Exit code 1 when A is over 1e-4 anywhere."""
import argparse
import glob
import os
import subprocess
import sys
import tempfile

import librosa
import numpy as np
import soundfile

SETTINGS = dict(n_fft=1024, hop_length=256, win_length=1024, window="hann", center=True, pad_mode="reflect")
FLOOR = 1e-5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/myxtts")
    parser.add_argument("--data", default=os.environ.get("MYXTTS_DATA", "../shared/data"), help="folder with ljspeech-mini")
    args = parser.parse_args()
    basis = librosa.filters.mel(sr=22050, n_fft=1024, n_mels=80, fmin=0, fmax=8000, dtype=np.float64)
    ours, single, double = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "mel.npy")
        for path in sorted(glob.glob(os.path.join(args.data, "ljspeech-mini", "wavs", "*.wav"))):
            subprocess.run([args.program, "mel", path, "--output", out, "--quiet"], check=True)
            ours.append(np.load(out).astype(np.float64))
            y, rate = soundfile.read(path, dtype="float32")
            single.append(librosa.feature.melspectrogram(y=y, sr=rate, power=1.0, n_mels=80, fmin=0, fmax=8000, **SETTINGS).T)
            stft = librosa.stft(y.astype(np.float64), dtype=np.complex128, **SETTINGS)
            double.append((basis @ np.abs(stft)).T)
    ours = np.concatenate(ours)
    print(f"{ours.size} elements")
    worst = 0.0
    for name, reference in (("float32", np.concatenate(single)), ("float64", np.concatenate(double))):
        mel = np.maximum(reference.astype(np.float64), FLOOR)
        a = np.abs(np.exp(ours) - mel) / mel
        b = np.abs(ours - np.log(mel)) / np.maximum(np.abs(np.log(mel)), FLOOR)
        worst = max(worst, a.max())
        print(f"librosa {name}: A max {a.max():.3g}, over 1e-4: {(a > 1e-4).sum()}; B max {b.max():.3g}, over 1e-4: {(b > 1e-4).sum()}")
    return 0 if worst <= 1e-4 else 1


sys.exit(main())
