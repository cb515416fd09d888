#!/usr/bin/env python3
"""Compares our pitch with librosa.pyin on the clips of ljspeech-mini (22050 Hz, hop 256, 60-500 Hz).

Prints the gross error rate (frames more than 20 % off, of those that both call voiced), the median deviation of the others,
and how often the two agree on what is voiced. Exit code 1 when the gross error rate is over 5 %."""
import argparse
import glob
import os
import subprocess
import sys

import librosa
import numpy as np
import soundfile


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/tests/test_pitch")
    parser.add_argument("--data", default=os.environ.get("MYXTTS_DATA", "../shared/data"), help="folder with ljspeech-mini")
    parser.add_argument("--clips", type=int, default=8, help="how many, spread over all of them; pyin is slow")
    parser.add_argument("--keep", help="file for pyin's answers, read when it is there")
    args = parser.parse_args()
    paths = sorted(glob.glob(os.path.join(args.data, "ljspeech-mini", "wavs", "*.wav")))
    paths = paths[:: max(1, len(paths) // args.clips)][: args.clips]
    kept = dict(np.load(args.keep)) if args.keep and os.path.exists(args.keep) else {}
    ours, theirs, ours_voiced, theirs_voiced = [], [], [], []
    for path in paths:
        text = subprocess.run([args.program, "--contour", path], check=True, capture_output=True, text=True).stdout
        table = np.array([line.split("\t") for line in text.splitlines()], dtype=np.float64)
        name = os.path.basename(path)
        if name not in kept:
            y, rate = soundfile.read(path, dtype="float32")
            hz, voiced, _ = librosa.pyin(y, sr=rate, fmin=60, fmax=500, frame_length=2048, hop_length=256, center=True)
            kept[name] = np.stack([np.nan_to_num(hz), voiced.astype(np.float64)])
        hz, voiced = kept[name][0], kept[name][1] > 0
        assert len(hz) == len(table), f"{name}: {len(table)} frames, librosa has {len(hz)}"
        ours.append(table[:, 1])
        ours_voiced.append(table[:, 2] > 0)
        theirs.append(hz)
        theirs_voiced.append(voiced)
        both = ours_voiced[-1] & voiced
        gross = np.abs(table[both, 1] / hz[both] - 1) > 0.2
        print(f"{name}: {len(hz)} frames, {both.sum()} voiced in both, {100 * gross.mean():.2f} % gross errors")
    if args.keep:
        np.savez(args.keep, **kept)
    ours, theirs, ours_voiced, theirs_voiced = map(np.concatenate, (ours, theirs, ours_voiced, theirs_voiced))
    both = ours_voiced & theirs_voiced
    ratio = ours[both] / theirs[both]
    gross = np.abs(ratio - 1) > 0.2
    fine = np.abs(ratio[~gross] - 1)
    print(f"{len(paths)} clips, {len(ours)} frames: voiced here {100 * ours_voiced.mean():.1f} %, there {100 * theirs_voiced.mean():.1f} %, "
          f"agreed on {100 * (ours_voiced == theirs_voiced).mean():.1f} %")
    print(f"gross errors {100 * gross.mean():.2f} % of {both.sum()} frames (too high {100 * (ratio > 1.2).mean():.2f} %, too low "
          f"{100 * (ratio < 0.8).mean():.2f} %); the others: median {100 * np.median(fine):.2f} %, 95th percentile {100 * np.quantile(fine, 0.95):.2f} %")
    return 0 if gross.mean() <= 0.05 else 1


sys.exit(main())
