#!/usr/bin/env python3
"""Training steps of the vocoder in PyTorch, made as fast as PyTorch goes: forward, inverse STFT, spectral loss, backward, clip, AdamW.

usage: peers_vocoder_step.py [--device cuda|cpu] [--size small|large | --network JSON] [--batch 32] [--mel 48] [--steps 20] [--threads N]
                             [--variants NAME,...] [--limit S] [--budget S] [--json]
       peers_vocoder_step.py [--device cuda|cpu] --check     network and loss beside tests/golden/vocoder.py

A batch is mels and samples on the device, every row full. --network: sizes as step_speed prints them. --limit, --budget: as in
peers_train_step.py. A variant is precision/compilation/filters/transforms[/graph]:
  fp32, autocast, bf16 and eager, default, or a mode of torch.compile: as in peers_train_step.py;
  conv: filters of single channels by conv1d; shift: as sums of shifted frames, which compilation joins with the norm that follows;
  fft: torch.stft and irfft; product: both as matrix products with the transform (TF32);
  graph: the whole step, optimiser too, is one CUDA graph.
"""
import json
import math
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn

sys.dont_write_bytecode = True  # nothing beside the scripts
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "golden"))
import vocoder as golden  # noqa: E402
from peers_train_step import Trainer, parse, race, time_steps  # noqa: E402

MEL = {"n_mels": 80, "n_fft": 1024, "hop_length": 200, "sample_rate": 16000, "mel_fmin": 0.0, "mel_fmax": 8000.0}
SIZES = {"small": dict(MEL, vocoder_dim=256, vocoder_layers=8), "large": dict(MEL, vocoder_dim=512, vocoder_layers=8)}
KERNEL, FLOOR, SCALES = golden.KERNEL, golden.FLOOR, golden.RESOLUTIONS
LOUDEST, SHIFT = 100.0, 0.3
VARIANTS = {  # the likeliest first, the slowest to compile last
    "cpu": ["fp32/eager/conv/fft", "fp32/default/shift/fft"],
    "cuda": ["autocast/default/shift/fft/graph", "bf16/default/shift/fft/graph", "bf16/default/shift/product/graph", "autocast/default/conv/fft/graph",
             "bf16/default/shift/fft", "bf16/reduce-overhead/shift/fft", "bf16/max-autotune-no-cudagraphs/shift/fft/graph",
             "bf16/max-autotune-no-cudagraphs/shift/product/graph"],
}


class Block(nn.Module):
    def __init__(self, dim, shift):
        super().__init__()
        self.shift = shift
        self.filters, self.bias = nn.Parameter(torch.empty(KERNEL, dim)), nn.Parameter(torch.zeros(dim))
        self.norm, self.up, self.down = nn.LayerNorm(dim), nn.Linear(dim, 3 * dim), nn.Linear(3 * dim, dim)

    def forward(self, x):
        """[B, T, dim]"""
        time, side = x.shape[1], KERNEL // 2
        if self.shift:
            padded = F.pad(x, (0, 0, side, side))
            h = self.bias + sum(padded[:, k : k + time] * self.filters[k] for k in range(KERNEL))
        else:
            h = F.conv1d(x.transpose(1, 2), self.filters.t()[:, None], self.bias, padding=side, groups=x.shape[2]).transpose(1, 2)
        return x + self.down(F.relu(self.up(self.norm(h))))


class Vocoder(nn.Module):
    def __init__(self, config, filters, transforms):
        super().__init__()
        dim, self.n, self.hop, self.product = config["vocoder_dim"], config["n_fft"], config["hop_length"], transforms == "product"
        self.bins, columns = self.n // 2 + 1, (self.n + 2 + 7) // 8 * 8
        self.first, self.norm = nn.Linear(KERNEL * config["n_mels"], dim), nn.LayerNorm(dim)
        self.blocks = nn.ModuleList(Block(dim, filters == "shift") for _ in range(config["vocoder_layers"]))
        self.last, self.head = nn.LayerNorm(dim), nn.Linear(dim, columns)
        for name, p in self.named_parameters():
            if p.dim() > 1:
                nn.init.trunc_normal_(p, std=0.02)
            elif not name.startswith("norm") and "norm.weight" not in name and "last.weight" not in name:
                nn.init.zeros_(p)
        rate = config["sample_rate"]
        self.fixed = {"spread": golden.spread(golden.mel_filters(rate, self.n, config["n_mels"], config["mel_fmin"], config["mel_fmax"])).float()}
        for n, bands in SCALES:
            self.fixed[f"bands {n}"] = golden.mel_filters(rate, n, bands, 0, rate / 2).float()
        for n in {n for n, _ in SCALES} | {self.n}:
            window = torch.hann_window(n, dtype=torch.float64)
            self.fixed[f"window {n}"] = window.float()
            if self.product:
                angle = 2 * math.pi / n * (torch.arange(n)[:, None] * torch.arange(n // 2 + 1)[None] % n).double()
                self.fixed[f"there {n}"] = (window[:, None] * torch.cat([angle.cos(), -angle.sin()], 1)).float()  # [n, 2 bins]
                twice = torch.full((n // 2 + 1,), 2.0, dtype=torch.float64)
                twice[0] = twice[-1] = 1
                back = torch.cat([(angle.cos() * twice).T, (-angle.sin() * twice).T]) / n  # [2 bins, n]
                self.fixed[f"back {n}"] = (back * window).float()

    def _apply(self, f, recurse=True):
        super()._apply(f, recurse)
        self.fixed = {k: v.to(self.head.weight.device) for k, v in self.fixed.items()}  # they stay float where weights become bf16
        return self

    def magnitudes(self, x, n):
        """[B, samples] -> [B, bins, frames], the ends reflected"""
        if not self.product:
            s = torch.view_as_real(torch.stft(x, n, n // 4, n, self.fixed[f"window {n}"], center=True, pad_mode="reflect", return_complex=True))
            return torch.sqrt(s[..., 0] ** 2 + s[..., 1] ** 2 + 1e-12)
        frames = F.pad(x[:, None], (n // 2, n // 2), mode="reflect")[:, 0].unfold(1, n, n // 4)
        real, imaginary = (frames @ self.fixed[f"there {n}"]).chunk(2, 2)
        return torch.sqrt(real**2 + imaginary**2 + 1e-12).transpose(1, 2)

    def wave(self, log_magnitude, phase):
        """[B, T, bins] -> [B, (T - 1) * hop]"""
        n, hop, time = self.n, self.hop, log_magnitude.shape[1]
        m = torch.exp(torch.clamp(log_magnitude, max=math.log(LOUDEST)))
        real, imaginary, window = m * torch.cos(phase), m * torch.sin(phase), self.fixed[f"window {n}"]
        if self.product:
            frames = torch.cat([real, imaginary], 2) @ self.fixed[f"back {n}"]
        else:
            frames = torch.fft.irfft(torch.view_as_complex(torch.stack([real, imaginary], 3)), n, dim=2) * window
        size = n + (time - 1) * hop
        sound = F.fold(frames.transpose(1, 2), (1, size), (1, n), stride=(1, hop))[:, 0, 0]
        overlap = F.fold((window**2)[None, :, None].expand(1, n, time), (1, size), (1, n), stride=(1, hop))[:, 0, 0]
        return (sound / torch.clamp(overlap, min=1e-4))[:, n // 2 : n // 2 + (time - 1) * hop]

    def spectrum(self, mel):
        """[B, T, n_mels] -> [B, T, columns]"""
        time, side = mel.shape[1], KERNEL // 2
        x = F.pad(((mel + 5) / 3).to(self.first.weight.dtype), (0, 0, side, side))
        h = self.norm(self.first(torch.cat([x[:, k : k + time] for k in range(KERNEL)], 2)))
        for block in self.blocks:
            h = block(h)
        return self.head(self.last(h))

    def loss(self, batch):
        mel, sound = batch["mel"], batch["samples"]
        out = self.spectrum(mel)
        with torch.autocast(mel.device.type, enabled=False):
            prior = torch.log(torch.clamp(torch.exp(mel) @ self.fixed["spread"].T, min=FLOOR)) + SHIFT
            out = out.float()
            made = self.wave(out[:, :, : self.bins] + prior, out[:, :, self.bins : 2 * self.bins])
            total = 0
            for n, _ in SCALES:
                weights = self.fixed[f"bands {n}"]
                a, b = (torch.log(torch.clamp(weights @ self.magnitudes(x, n), min=FLOOR)) for x in (made, sound))
                total = total + (a - b).abs().mean()
            return total / len(SCALES)


def make_batch(rows, frames, config, device):
    """noise as loud as speech"""
    return {"mel": (2 * torch.randn(rows, frames, config["n_mels"]) - 5).to(device),
            "samples": (0.1 * torch.randn(rows, (frames - 1) * config["hop_length"])).to(device)}


class VocoderTrainer(Trainer):
    def __init__(self, config, device, variant):
        self.precision, mode, filters, transforms, *rest = variant.split("/")
        self.graph, self.device, self.pool, self.dynamic, self.backends = bool(rest), device, None, False, None
        torch.manual_seed(1)
        network = Vocoder(config, filters, transforms)
        self.train(network, network.loss, lambda name: "weight" in name and "norm" not in name and "last" not in name or "filters" in name, mode)


def measure(config, args, variant):
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(1)
    result = time_steps(VocoderTrainer(config, args.device, variant), make_batch(args.batch, args.mel, config, args.device), args, variant)
    return {k: round(v, 4) if isinstance(v, float) else v for k, v in result.items()}


def check(device, compiled):
    """largest relative difference of loss and gradients to the golden network, fp32"""
    torch.set_float32_matmul_precision("highest")
    torch.manual_seed(2)
    batch = make_batch(3, 24, golden.MODEL, device)
    weights = {name: 0.05 * torch.randn(*shape) + (1.0 if "norm" in name and name.endswith("weight") else 0.0) for name, shape in golden.shapes().items()}
    plain = {name: w.double().requires_grad_() for name, w in weights.items()}
    expected = golden.loss_of(golden.forward(plain, batch["mel"].cpu().double())[1], batch["samples"].cpu().double())
    expected.backward()
    expected = [expected.detach()] + [w.grad for w in plain.values()]
    worst = 0.0
    for filters, transforms in (("conv", "fft"), ("shift", "fft"), ("conv", "product"), ("shift", "product")):
        network = Vocoder(golden.MODEL, filters, transforms).to(device)
        with torch.no_grad():
            for p, w in zip(network.parameters(), weights.values(), strict=True):  # both lists are in the order of the network
                p.copy_(w.view(p.shape))
        total = (torch.compile(network.loss) if compiled else network.loss)(batch)
        total.backward()
        found = [total.detach()] + [p.grad for p in network.parameters()]
        worst = max([worst] + [((a.flatten() - b.cpu().flatten()).norm() / (1e-4 + a.norm())).item() for a, b in zip(expected, found)])
    print(f"largest relative difference to the golden network: {worst:.1e}", "ok" if worst < 1e-3 else "FAILED")
    return 0 if worst < 1e-3 else 1


def main():
    args = parse(__doc__, SIZES, "large", {"batch": 32, "mel": 48, "steps": 20, "threads": 0})
    if args.check:
        return check(args.device, not args.no_compile)
    config = {**SIZES[args.size], **args.network}
    if args.worker:
        print(json.dumps(measure(config, args, args.worker)))
        return 0
    return race(args, VARIANTS[args.device], {"network": config, "batch": args.batch, "mel": args.mel})


if __name__ == "__main__":
    sys.exit(main())
