"""Mel frames per second of torchaudio and librosa on one thread, samples already in memory, same settings as ours.
usage: peers_mel.py SECONDS FILE...   prints one JSON line"""
import os
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"
import json
import sys
import time

import librosa
import numpy as np
import soundfile
import torch
import torchaudio

torch.set_num_threads(1)
limit = float(sys.argv[1])
clips = [soundfile.read(f, dtype="float32")[0] for f in sys.argv[2:]]
tensors = [torch.from_numpy(c) for c in clips]
transform = torchaudio.transforms.MelSpectrogram(sample_rate=22050, n_fft=1024, win_length=1024, hop_length=256, f_min=0, f_max=8000,
                                                 n_mels=80, power=1.0, norm="slaney", mel_scale="slaney", center=True, pad_mode="reflect")


def by_torchaudio(i):
    return torch.log(torch.clamp(transform(tensors[i]), min=1e-5)).shape[-1]


def by_librosa(i):
    m = librosa.feature.melspectrogram(y=clips[i], sr=22050, n_fft=1024, win_length=1024, hop_length=256, fmin=0, fmax=8000, n_mels=80,
                                       power=1.0, center=True, pad_mode="reflect")
    return np.log(np.maximum(m, 1e-5)).shape[-1]


def measure(run):
    for i in range(len(clips)):
        run(i)
    frames, start = 0, time.perf_counter()
    while time.perf_counter() - start < limit:
        for i in range(len(clips)):
            frames += run(i)
    return frames / (time.perf_counter() - start)


with torch.inference_mode():
    result = {"torchaudio": measure(by_torchaudio), "librosa": measure(by_librosa)}
result["versions"] = {"torch": torch.__version__, "torchaudio": torchaudio.__version__, "librosa": librosa.__version__}
print(json.dumps(result))
