#!/usr/bin/env python3
"""Makes the golden mels with librosa: python3 tests/golden/make_mel.py [DATA]   (needs librosa, soundfile, numpy)

mel_signal.wav           one second: chirp, noise, clicks, a silent stretch
mel_<case>.npy           its mel in double precision, float32 [frames, bands], for several settings (see tests/audio/test_mel.c)
mel_clips.npy            every 4th frame of every clip of tests/data/ljspeech, clips in order of their names, librosa's own float32
mel_ljspeech.npy         every 16th frame of every clip of DATA/ljspeech-mini, in the same way
trim_ljspeech.txt        librosa.effects.trim of the clips of DATA/ljspeech-mini: name, top_db, first, last
"""
import glob
import os
import sys

import librosa
import numpy as np
import soundfile

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("MYXTTS_DATA", "../shared/data")
FLOOR = 1e-5

# name, samples (0 = all), n_fft, win, hop, bands, fmin, fmax; the same table is in tests/audio/test_mel.c
CASES = [
    ("default", 0, 1024, 1024, 256, 80, 0, 8000),
    ("window", 0, 1024, 800, 200, 80, 0, 8000),
    ("hop", 0, 1024, 1024, 300, 40, 50, 7600),
    ("large", 0, 2048, 2048, 512, 128, 0, 11025),
    ("small", 0, 512, 400, 100, 80, 0, 4000),
    ("factors", 0, 600, 600, 150, 64, 0, 8000),
    ("prime", 0, 2 * 67, 134, 67, 20, 0, 11025),
    ("odd", 0, 1023, 1023, 256, 80, 0, 8000),
    ("oddwindow", 0, 1024, 801, 256, 80, 0, 8000),
    ("one", 1, 1024, 1024, 256, 80, 0, 8000),
    ("two", 2, 1024, 1024, 256, 80, 0, 8000),
    ("five", 5, 1024, 1024, 256, 80, 0, 8000),
    ("short", 700, 1024, 1024, 256, 80, 0, 8000),
]


def mel_double(y, rate, n_fft, win, hop, bands, fmin, fmax):
    """log mel in double precision; padded with numpy, so that clips of any length are reflected"""
    y = np.pad(y.astype(np.float64), n_fft // 2, mode="reflect")
    stft = librosa.stft(y, n_fft=n_fft, hop_length=hop, win_length=win, window="hann", center=False, dtype=np.complex128)
    basis = librosa.filters.mel(sr=rate, n_fft=n_fft, n_mels=bands, fmin=fmin, fmax=fmax, htk=False, norm="slaney", dtype=np.float64)
    return np.log(np.maximum(basis @ np.abs(stft), FLOOR)).T.astype(np.float32)


def signal(rate=22050):
    rng = np.random.default_rng(20)
    t = np.arange(rate) / rate
    y = 0.4 * np.sin(2 * np.pi * (40 * t + 0.5 * 10500 * t * t)) + 0.02 * rng.standard_normal(rate)
    y[5000:9000] *= 0.001
    y[12000:14500] = 0
    y[[100, 7000, 13000, 22049]] += 0.5
    return np.clip(y, -1, 1)


def mel_rows(folder, step):
    """every step-th frame of every clip, as librosa computes it in float32; and what it trims"""
    rows, trims = [], []
    for path in sorted(glob.glob(os.path.join(folder, "wavs", "*.wav"))):
        y, rate = soundfile.read(path, dtype="float32")
        m = librosa.feature.melspectrogram(
            y=y, sr=rate, n_fft=1024, win_length=1024, hop_length=256, window="hann", center=True, pad_mode="reflect", power=1.0,
            n_mels=80, fmin=0, fmax=8000, htk=False, norm="slaney")
        rows.append(np.log(np.maximum(m, FLOOR)).T[::step])
        for top_db in (20, 40, 60):
            _, (first, last) = librosa.effects.trim(y, top_db=top_db, frame_length=1024, hop_length=256)
            trims.append(f"{os.path.basename(path)} {top_db} {first} {last}\n")
    return np.ascontiguousarray(np.concatenate(rows), dtype=np.float32), trims


def main():
    wav = os.path.join(HERE, "mel_signal.wav")
    soundfile.write(wav, signal(), 22050, subtype="PCM_16")
    y, rate = soundfile.read(wav, dtype="float32")
    for name, n, *settings in CASES:
        m = mel_double(y[:n] if n else y, rate, *settings)
        np.save(os.path.join(HERE, f"mel_{name}.npy"), np.ascontiguousarray(m))
    clips, _ = mel_rows(os.path.join(HERE, "..", "data", "ljspeech"), 4)
    np.save(os.path.join(HERE, "mel_clips.npy"), clips)
    if not os.path.isdir(os.path.join(DATA, "ljspeech-mini")):
        print(f"there is no {DATA}/ljspeech-mini: mel_ljspeech.npy and trim_ljspeech.txt stay as they are", file=sys.stderr)
        return
    clips, trims = mel_rows(os.path.join(DATA, "ljspeech-mini"), 16)
    np.save(os.path.join(HERE, "mel_ljspeech.npy"), clips)
    with open(os.path.join(HERE, "trim_ljspeech.txt"), "w", encoding="utf-8") as f:
        f.writelines(trims)


main()
