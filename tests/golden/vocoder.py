#!/usr/bin/env python3
"""The vocoder of docs/MODEL.md in PyTorch, and the golden file made with it (needs torch, numpy, safetensors).

usage: vocoder.py [--output FILE] [--seed N]        vocoder.safetensors beside this script

Random weights and a random batch with an empty row go in; the sound, the loss and all gradients come out, computed in float64 and written as
float32. Transforms, windows and overlap are PyTorch's (torch.stft, torch.fft.irfft), the bands librosa's formula written out.

In the file:  batch.mel [B, M, n], batch.samples [B, (M - 1) * hop], batch.mel_length [B] int32;  param.NAME, grad.NAME;  out.wave;
  out.prior [B, M, n_fft / 2 + 1];  loss [1];  the metadata config (YAML)
"""
import argparse
import math
import os

import numpy as np
import torch
import torch.nn.functional as F

MODEL = dict(network="vocoder", vocoder_dim=24, vocoder_layers=2, sample_rate=16000, n_fft=256, win_length=200, hop_length=75, n_mels=20,
             mel_fmin=30.0, mel_fmax=7000.0)
ROWS, FRAMES, KERNEL, WIDEN, FLOOR = 3, 17, 7, 3, 1e-5
RESOLUTIONS = ((2048, 80), (1024, 80), (512, 40), (256, 20))


def mel_filters(rate, n, bands, low, high):
    """librosa.filters.mel(htk=False, norm="slaney") in float64"""
    def to_mel(f):
        f = np.asarray(f, float)
        return np.where(f < 1000, f * 3 / 200, 15 + np.log(np.maximum(f, 1e-9) / 1000) / (np.log(6.4) / 27))

    def to_hz(m):
        return np.where(m < 15, m * 200 / 3, 1000 * np.exp((np.log(6.4) / 27) * (m - 15)))
    edges = to_hz(np.linspace(to_mel(low), to_mel(high), bands + 2))
    f = np.linspace(0, rate / 2, n // 2 + 1)
    rising = (f[None] - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - f[None]) / (edges[2:] - edges[1:-1])[:, None]
    weights = np.maximum(0, np.minimum(rising, falling)) * (2 / (edges[2:] - edges[:-2]))[:, None]
    return torch.tensor(weights)


def spread(filters):
    """[bins, bands]: the magnitude of a bin, guessed from the bands over it"""
    m = filters.numpy()
    heights = m / np.maximum(m.max(1, keepdims=True), 1e-9)
    cover = heights.sum(0)
    w = heights.T / np.maximum(m.sum(1), 1e-9) / np.maximum(cover, 1e-9)[:, None]
    covered = np.nonzero(cover > 1e-3)[0]
    for i in range(len(cover)):
        if cover[i] <= 1e-3:
            w[i] = w[covered[np.argmin(abs(covered - i))]]
    return torch.tensor(w)


def magnitudes(x, n, hop):
    s = torch.stft(x, n, hop, n, torch.hann_window(n, dtype=x.dtype), center=True, pad_mode="reflect", return_complex=True)
    return torch.sqrt(s.real ** 2 + s.imag ** 2 + 1e-30)


def shapes():
    c, n, wide = MODEL["vocoder_dim"], MODEL["n_mels"], WIDEN * MODEL["vocoder_dim"]
    columns = -(-(MODEL["n_fft"] + 2) // 8) * 8
    s = {"input.weight": (c, KERNEL, n), "input.bias": (c,), "norm_in.weight": (c,), "norm_in.bias": (c,)}
    for i in range(MODEL["vocoder_layers"]):
        p = f"blocks.{i}."
        s.update({p + "depthwise.weight": (KERNEL, c), p + "depthwise.bias": (c,), p + "norm.weight": (c,), p + "norm.bias": (c,),
                  p + "up.weight": (wide, c), p + "up.bias": (wide,), p + "down.weight": (c, wide), p + "down.bias": (c,)})
    s.update({"norm_out.weight": (c,), "norm_out.bias": (c,), "head.weight": (columns, c), "head.bias": (columns,)})
    return {"vocoder." + k: v for k, v in s.items()}


def forward(p, mel):
    """mel [B, M, n] -> the prior [B, M, bins], the sound [B, (M - 1) * hop]"""
    n, hop, c, frames = MODEL["n_fft"], MODEL["hop_length"], MODEL["vocoder_dim"], mel.shape[1]
    at = {k[len("vocoder."):]: v for k, v in p.items()}

    def norm(x, name):
        return F.layer_norm(x, (c,), at[name + ".weight"], at[name + ".bias"], 1e-5)
    x = F.conv1d(((mel + 5) / 3).transpose(1, 2), at["input.weight"].permute(0, 2, 1), at["input.bias"], padding=KERNEL // 2).transpose(1, 2)
    x = norm(x, "norm_in")
    for i in range(MODEL["vocoder_layers"]):
        b = f"blocks.{i}."
        y = F.conv1d(x.transpose(1, 2), at[b + "depthwise.weight"].t()[:, None], at[b + "depthwise.bias"], padding=KERNEL // 2, groups=c)
        y = norm(y.transpose(1, 2), b + "norm")
        y = F.relu(y @ at[b + "up.weight"].t() + at[b + "up.bias"])
        x = x + y @ at[b + "down.weight"].t() + at[b + "down.bias"]
    o = norm(x, "norm_out") @ at["head.weight"].t() + at["head.bias"]
    bins = n // 2 + 1
    w = spread(mel_filters(MODEL["sample_rate"], n, MODEL["n_mels"], MODEL["mel_fmin"], MODEL["mel_fmax"]))
    prior = torch.log(torch.clamp(torch.exp(mel) @ w.t(), min=FLOOR)) + 0.3
    size = torch.clamp(torch.exp(o[..., :bins] + prior), max=100)
    phase = o[..., bins:2 * bins]
    window = torch.hann_window(n, dtype=mel.dtype)
    pieces = torch.fft.irfft(torch.complex(size * torch.cos(phase), size * torch.sin(phase)), n, dim=2) * window
    whole = n + (frames - 1) * hop

    def add_up(x):
        return F.fold(x.transpose(1, 2), (1, whole), (1, n), stride=(1, hop))[:, 0, 0]
    wave = add_up(pieces) / torch.clamp(add_up((window ** 2).expand(1, frames, n)), min=1e-30)
    return prior, wave[:, n // 2: n // 2 + (frames - 1) * hop]


def loss_of(wave, samples):
    total = 0
    for n, bands in RESOLUTIONS:
        m = mel_filters(MODEL["sample_rate"], n, bands, 0, MODEL["sample_rate"] / 2)
        ours, theirs = (torch.log(torch.clamp(m @ magnitudes(x, n, n // 4), min=FLOOR)) for x in (wave, samples))
        total = total + (ours - theirs).abs().mean()
    return total / len(RESOLUTIONS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "vocoder.safetensors"))
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    from safetensors.torch import save_file
    draw = torch.Generator().manual_seed(args.seed)

    def random(*shape):  # float32 numbers, so that the file holds what was computed with
        return torch.randn(*shape, generator=draw, dtype=torch.float32).double()
    p = {}
    for name, shape in shapes().items():
        size = 1.2 / math.sqrt(math.prod(shape[1:])) if len(shape) > 1 and "depthwise" not in name else 0.3
        if "head" in name:
            size *= 0.3
        base = 1.0 if "norm" in name and name.endswith("weight") else 0.0
        p[name] = (base + (size * random(*shape)).float().double()).float().double().requires_grad_(True)
    mel = (-4 + 1.5 * random(ROWS, FRAMES, MODEL["n_mels"])).float().double()
    samples = (0.1 * random(ROWS, (FRAMES - 1) * MODEL["hop_length"])).float().double()
    mel[0, 3:5] = math.log(FLOOR)
    length = torch.full((ROWS,), FRAMES, dtype=torch.int32)
    length[1] = 0
    full = length > 0
    prior, wave = forward(p, mel[full])
    loss = loss_of(wave, samples[full])
    loss.backward()
    out = {"batch.mel": mel, "batch.samples": samples, "out.wave": wave, "out.prior": prior, "loss": loss[None]}
    for name, v in p.items():
        out["param." + name], out["grad." + name] = v, v.grad
    out = {k: v.detach().float().contiguous() for k, v in out.items()}
    out["batch.mel_length"] = length
    assert all(torch.isfinite(v).all() for v in out.values() if v.is_floating_point())
    config = "model:\n" + "".join(f"  {k}: {v}\n" for k, v in MODEL.items()) + "training:\n  mixed_precision: false\n"
    save_file(out, args.output, {"config": config})
    print(f"{os.path.basename(args.output)}: loss {loss.item():.7f}, sound up to {wave.abs().max().item():.3f}")


if __name__ == "__main__":
    main()
