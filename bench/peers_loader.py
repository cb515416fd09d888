"""Utterances per second of PyTorch's DataLoader over the clips of a dataset: padded batches, nothing done with them.
usage: peers_loader.py make DATASET FOLDER                             one FOLDER/ID.npy per clip, float32 [frames, 80]
       peers_loader.py npy|wav DATASET FOLDER BATCH WORKERS SECONDS    prints one JSON line
npy: np.load of the precomputed log mel. wav: soundfile, then torchaudio's mel. An epoch warms the workers up; then whole epochs, at least two,
until SECONDS are over."""
import os
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"
import json
import shutil
import sys
import time

import numpy as np
import soundfile
import torch
import torchaudio

BANDS = 80
torch.set_num_threads(1)


def mel_transform():
    return torchaudio.transforms.MelSpectrogram(sample_rate=22050, n_fft=1024, win_length=1024, hop_length=256, f_min=0, f_max=8000,
                                                n_mels=BANDS, power=1.0, norm="slaney", mel_scale="slaney", center=True,
                                                pad_mode="reflect")


def mel_of_wav(transform, path):
    samples = torch.from_numpy(soundfile.read(path, dtype="float32")[0])
    with torch.inference_mode():
        return torch.log(torch.clamp(transform(samples), min=1e-5)).T


def read_lines(dataset):
    with open(os.path.join(dataset, "metadata.csv"), encoding="utf-8") as f:
        return [line.split("|") for line in f.read().splitlines()]


class Clips(torch.utils.data.Dataset):
    """Tokens are in memory already: one per byte of the text."""

    def __init__(self, kind, dataset, folder):
        lines = read_lines(dataset)
        self.transform = mel_transform() if kind == "wav" else None
        where, end = (os.path.join(dataset, "wavs"), ".wav") if kind == "wav" else (folder, ".npy")
        self.paths = [os.path.join(where, line[0] + end) for line in lines]
        self.tokens = [torch.from_numpy(np.frombuffer(line[-1].encode(), dtype=np.uint8).astype(np.int32)) for line in lines]

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        path = self.paths[i]
        return self.tokens[i], mel_of_wav(self.transform, path) if self.transform else torch.from_numpy(np.load(path))


def collate(rows):
    text, frames = max(len(t) for t, _ in rows), max(len(m) for _, m in rows)
    tokens = torch.zeros(len(rows), text, dtype=torch.int32)
    mels = torch.zeros(len(rows), frames, BANDS)
    for i, (t, m) in enumerate(rows):
        tokens[i, :len(t)] = t
        mels[i, :len(m)] = m
    return tokens, torch.tensor([len(t) for t, _ in rows]), mels, torch.tensor([len(m) for _, m in rows])


def make(dataset, folder):
    """Clips with the same samples (copies of one recording) are computed once."""
    os.makedirs(folder)
    transform, made = mel_transform(), {}
    for line in read_lines(dataset):
        path, out = os.path.join(dataset, "wavs", line[0] + ".wav"), os.path.join(folder, line[0] + ".npy")
        with open(path, "rb") as f:
            content = f.read()
        if content in made:
            shutil.copyfile(made[content], out)
        else:
            np.save(out, np.ascontiguousarray(mel_of_wav(transform, path).numpy()))
            made[content] = out


def measure(kind, dataset, folder, batch, workers, seconds):
    loader = torch.utils.data.DataLoader(Clips(kind, dataset, folder), batch_size=batch, shuffle=True, num_workers=workers,
                                         collate_fn=collate, persistent_workers=workers > 0, pin_memory=False)
    utterances = epochs = real = padded = 0
    for _ in loader:
        pass
    start = time.perf_counter()
    while epochs < 2 or time.perf_counter() - start < seconds:
        for _, _, mels, lengths in loader:
            utterances += len(mels)
            padded += mels.shape[0] * mels.shape[1]
            real += int(lengths.sum())
        epochs += 1
    spent = time.perf_counter() - start
    return {"utterances_per_s": utterances / spent, "frames_per_s": real / spent, "padding_share": 1 - real / padded, "epochs": epochs,
            "seconds": spent, "workers": workers, "torch": torch.__version__}


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], sys.argv[3])
    else:
        print(json.dumps(measure(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), float(sys.argv[6]))))
