"""What a training in PyTorch gets from myxtts.Loader, and from PyTorch's DataLoader over the same mels. Each call prints one JSON line.
usage: torch_loader.py make DATASET CACHE FOLDER                              FOLDER/ID.npy, float32 [frames, bands]: the mels that ours gives
       torch_loader.py ours|peer|step|resume DATASET CACHE FOLDER SECONDS
ours, peer: utterances per second into tensors on the device (the GPU if there is one): tokens, mel, and their lengths. peer: np.load in as many
workers as there are cores, pinned memory and copies that nobody waits for. step: a training loop whose step takes 20 ms. resume: 20 stops at
random, each restored into a loader that has been running."""
import hashlib
import json
import os
import random
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "python"))
import numpy as np
import torch

import myxtts

BATCH, STEP, STOPS = 32, 0.020, 20
CORES = len(os.sched_getaffinity(0))
GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda:0" if GPU else "cpu")
NAMES = ("tokens", "token_length", "mel", "mel_length")


def open_loader(dataset, cache, device=DEVICE, **more):
    return myxtts.Loader(dataset, cache_dir=cache, batch_size=BATCH, device=device, seed=1, val_split=0, trim_silence=False,
                         enable_loudness_normalization=False, **more)


def wait_for_device():
    if GPU:
        torch.cuda.synchronize()


def make(dataset, cache, folder):
    os.makedirs(folder)
    with open_loader(dataset, cache, "cpu") as loader:
        for batch in loader:
            tokens, lengths = batch.tokens.numpy(), batch.token_length
            for row, name in enumerate(batch.ids):
                np.save(os.path.join(folder, name + ".npy"), batch.mel[row, :batch.mel_length[row]].numpy())
                np.save(os.path.join(folder, name + ".tokens"), tokens[row, :lengths[row]])
    return {"clips": loader.utterances}


# ---- utterances per second ----

def count(batches, seconds):
    """Epochs, at least two, until the time is over; one more before, to warm everything up."""
    for _ in batches():
        pass
    utterances = epochs = 0
    wait_for_device()
    start = time.perf_counter()
    while epochs < 2 or time.perf_counter() - start < seconds:
        for rows in batches():
            utterances += rows
        epochs += 1
    wait_for_device()
    return utterances / (time.perf_counter() - start)


def ours(dataset, cache, folder, seconds):
    with open_loader(dataset, cache) as loader:
        def batches():
            for batch in loader:
                tensors = [batch[name] for name in NAMES]
                yield len(tensors[0])
        rate = count(batches, seconds)
        assert next(iter(loader)).mel.device == DEVICE
        return {"utterances_per_s": rate, "verdict": loader.report().sentence}


class Clips(torch.utils.data.Dataset):
    """Tokens are in memory already."""

    def __init__(self, folder):
        self.paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if not name.endswith(".tokens.npy")]
        self.tokens = [torch.from_numpy(np.load(path[:-4] + ".tokens.npy")) for path in self.paths]

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        return self.tokens[i], torch.from_numpy(np.load(self.paths[i]))


def pad(rows):
    tokens = torch.nn.utils.rnn.pad_sequence([t for t, _ in rows], batch_first=True)
    mels = torch.nn.utils.rnn.pad_sequence([m for _, m in rows], batch_first=True)
    return tokens, torch.tensor([len(t) for t, _ in rows]), mels, torch.tensor([len(m) for _, m in rows])


def peer(dataset, cache, folder, seconds):
    loader = torch.utils.data.DataLoader(Clips(folder), batch_size=BATCH, shuffle=True, collate_fn=pad, num_workers=CORES,
                                         persistent_workers=True, pin_memory=GPU)

    def batches():
        for batch in loader:
            tensors = [x.to(DEVICE, non_blocking=True) for x in batch]
            yield len(tensors[0])
    torch.set_num_threads(1)
    return {"utterances_per_s": count(batches, seconds), "torch": torch.__version__,
            "device": torch.cuda.get_device_name() if GPU else "cpu", "cores": CORES}


# ---- a step of 20 ms ----

def make_step():
    """Products of the batch's mels with weights, as many as take 20 ms."""
    torch.set_num_threads(1)
    width = 4096 if GPU else 512
    weights = torch.randn(width, width, device=DEVICE) / width
    first = torch.randn(80, width, device=DEVICE)

    def step(mel, times):
        x = mel[:, :64].reshape(-1, 80) @ first
        for _ in range(times):
            x = x @ weights
        return x.sum()

    mel = torch.randn(BATCH, 300, 80, device=DEVICE)

    def seconds(times):
        wait_for_device()
        start = time.perf_counter()
        for _ in range(3):
            step(mel, times)
        wait_for_device()
        return (time.perf_counter() - start) / 3
    seconds(20)
    times = 20
    for _ in range(3):
        times = max(1, round(times * STEP / seconds(times)))
    return lambda batch: step(batch, times), seconds(times)


def step(dataset, cache, folder, seconds):
    work, takes = make_step()
    with open_loader(dataset, cache) as loader:
        done, inside, start = 0, 0.0, None
        total = max(60, int(seconds / STEP))
        while done < total:
            batches = iter(loader)
            while done < total:
                asked = time.perf_counter()
                batch = next(batches, None)
                if batch is None:
                    break
                if done == 20:
                    wait_for_device()
                    start, inside = time.perf_counter(), 0.0
                elif done > 20:
                    inside += time.perf_counter() - asked
                work(batch.mel)
                done += 1
        wait_for_device()
        spent = time.perf_counter() - start
        report = loader.report()
        # On a GPU the host is ahead: it is the device that must not wait, which the loader's events tell.
        return {"step_ms": 1e3 * takes, "loop_ms": 1e3 * spent / (done - 20), "wait_share": report["wait_share"], "host_share": inside / spent,
                "verdict": report.sentence}


# ---- resuming ----

def digest(batch):
    h = hashlib.sha256()
    for name in batch.keys():
        h.update(batch[name].cpu().numpy().tobytes())
    return h.digest()


def resume(dataset, cache, folder, seconds):
    chance, equal, times = random.Random(11), 0, []
    with open_loader(dataset, cache) as loader:
        expected = [digest(b) for _ in range(3) for b in loader]
        first = dict(loader.state_dict(), epoch=0, index=0)
    with open_loader(dataset, cache) as loader:
        for _ in range(STOPS):
            loader.load_state_dict(first)
            stop, given = chance.randrange(len(expected) - 4), 0
            while given < stop:
                for _ in loader:
                    given += 1
                    if given == stop:
                        break
            state = json.loads(json.dumps(loader.state_dict()))
            for _, batch in zip(range(chance.randrange(3)), loader):  # it goes on a little
                pass
            batch = None
            start = time.perf_counter()
            loader.load_state_dict(state)
            batch = next(iter(loader))
            times.append(1e3 * (time.perf_counter() - start))
            got = [digest(batch)] + [digest(b) for _, b in zip(range(2), loader)]
            equal += got == expected[stop:stop + len(got)]
            batch = None
    return {"stops": STOPS, "equal": equal, "restored_ms": max(times), "restored_ms_median": sorted(times)[len(times) // 2]}


if __name__ == "__main__":
    what, arguments = sys.argv[1], sys.argv[2:5]
    if what == "make":
        print(json.dumps(make(*arguments)))
    else:
        print(json.dumps({"ours": ours, "peer": peer, "step": step, "resume": resume}[what](*arguments, float(sys.argv[5]))))
