#!/usr/bin/env python3
"""One training step of the same network in PyTorch, made as fast as PyTorch goes: forward, loss, backward, clip, AdamW, dropout on.

usage: peers_train_step.py --device cuda|cpu [--size tiny|nano] [--batch 32] [--text 200] [--mel 800] [--r 1] [--shortest 1.0]
                           [--steps 20] [--threads N] [--variants NAME,...] [--no-compile] [--json]
       peers_train_step.py --device cuda|cpu --check     fp32 loss and gradients beside tests/golden/model.py

Rows have lengths from --shortest to 1 of the shape, evenly. A variant is precision/compile mode/attention[/graph]:
  fp32, autocast (bf16 autocast over fp32 weights), bf16 (bf16 weights and activations, fp32 masters in the optimiser);
  eager, or a mode of torch.compile; flash or cudnn for self-attention (sdpa: PyTorch's choice);
  graph: the whole step, optimiser too, is one CUDA graph.
"""
import argparse
import contextlib
import json
import os
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "golden"))
from model import SIZES, TRAINING, Network, Plain, decays, within  # noqa: E402

SYMBOLS = 200
BACKENDS = {"flash": [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH],
            "cudnn": [SDPBackend.CUDNN_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]}
VARIANTS = {
    "cpu": ["fp32/eager/sdpa", "fp32/default/sdpa"],
    "cuda": ["autocast/eager/flash", "autocast/default/flash", "bf16/default/flash", "bf16/default/cudnn", "bf16/default/flash/graph",
             "bf16/reduce-overhead/flash", "bf16/max-autotune-no-cudagraphs/flash"],
}


class Fast(Plain):
    @staticmethod
    def attention(q, k, v, heads, keys=None, causal=False):
        """Causal self-attention needs no other mask: keys behind a row's length come after all of its real queries."""
        q, k, v = (x.unflatten(2, (heads, -1)).transpose(1, 2) for x in (q, k, v))
        mask = None if causal or keys is None else keys[:, None, None, :].expand(-1, 1, q.shape[2], -1)
        return F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal).transpose(1, 2).flatten(2)

    @staticmethod
    def guided_attention(q, k, v, heads, keys, penalty):
        """The weights are needed: explicit, in a form that the compiler fuses to one pass each way."""
        q, k, v = (x.unflatten(2, (heads, -1)).transpose(1, 2) for x in (q, k, v))
        score = (q @ k.transpose(2, 3)).float() * q.shape[3] ** -0.5
        p = score.masked_fill(~keys[:, None, None, :], float("-inf")).softmax(3)
        guided = (p * penalty[:, None]).sum(3).sum()
        return (p.to(v.dtype) @ v).transpose(1, 2).flatten(2), guided

    @staticmethod
    def convolution(x, weight, bias):
        """[B, time, C] is what cuDNN calls channels last: no copies"""
        image = x.transpose(1, 2).unsqueeze(2)  # [B, C, 1, time]
        kernel = weight.permute(0, 2, 1).unsqueeze(2)
        return F.conv2d(image, kernel, bias, padding=(0, weight.shape[1] // 2)).squeeze(2).transpose(1, 2)


def make_batch(rows, text, mel, bands, shortest, device):
    share = torch.linspace(1, shortest, rows)
    text_length, mel_length = ((share * n).round().long().clamp(min=1) for n in (text, mel))
    real = within(mel_length, mel)
    batch = {"tokens": torch.randint(SYMBOLS, (rows, text)), "text_length": text_length, "mel_length": mel_length,
             "reference": torch.randperm(rows), "mel": torch.randn(rows, mel, bands) * real[:, :, None], "pitch": torch.randn(rows, mel) * real}
    return {k: v.to(device) for k, v in batch.items()}


class Trainer:
    """One variant: step() runs a training step and calls mark() at the ends of forward, backward and optimiser."""

    def __init__(self, config, batch, device, variant):
        self.precision, mode, attention, *rest = variant.split("/")
        self.graph, self.batch, self.device = bool(rest), batch, device
        self.backends = BACKENDS.get(attention)
        torch.manual_seed(1)
        self.network = Network(config, TRAINING, SYMBOLS, Fast).to(device).train()
        named = list(self.network.named_parameters())
        self.masters = [p for _, p in named]
        if self.precision == "bf16":
            self.masters = [p.detach().clone().requires_grad_() for p in self.masters]
            self.network.bfloat16()
        self.weights = list(self.network.parameters())
        for m in self.masters:
            m.grad = torch.zeros_like(m)
        groups = [{"params": [m for (n, _), m in zip(named, self.masters) if decays(n) == d], "weight_decay": 0.01 if d else 0.0} for d in (True, False)]
        self.adam = torch.optim.AdamW(groups, lr=1e-4, betas=(0.9, 0.98), fused=True, capturable=self.graph)

        def loss(batch):
            return self.network.loss(batch)[0].sum()
        self.loss = loss if mode == "eager" else torch.compile(loss, mode=None if mode == "default" else mode)

    def step(self, mark=lambda: None):
        with sdpa_kernel(self.backends, set_priority=True) if self.backends else contextlib.nullcontext():
            with torch.autocast(self.device, torch.bfloat16, enabled=self.precision == "autocast", cache_enabled=not self.graph):
                total = self.loss(self.batch)
            mark()
            total.backward()
        mark()
        if self.precision == "bf16":
            torch._foreach_copy_([m.grad for m in self.masters], [w.grad for w in self.weights])
        nn.utils.clip_grad_norm_(self.masters, 1.0, foreach=True)
        self.adam.step()
        if self.precision == "bf16":
            with torch.no_grad():
                torch._foreach_copy_(self.weights, self.masters)
        self.network.zero_grad(set_to_none=True)
        mark()
        return total.detach()

    def capture(self):
        """the step as one CUDA graph; its replay takes the place of step()"""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.total = self.step()

        def replay(mark=None):
            graph.replay()
            return self.total
        self.step = replay


def stopwatch(device):
    """mark() and a function that gives the milliseconds between marks"""
    if device == "cpu":
        times = []
        return lambda: times.append(time.perf_counter()), lambda: [1000 * (b - a) for a, b in zip(times, times[1:])]
    events = []

    def mark():
        events.append(torch.cuda.Event(enable_timing=True))
        events[-1].record()
    return mark, lambda: [a.elapsed_time(b) for a, b in zip(events, events[1:])]


def measure(config, batch, device, variant, steps):
    torch._dynamo.reset()
    began = time.perf_counter()
    trainer = Trainer(config, batch, device, variant)
    for _ in range(3 if device == "cpu" else 5):
        trainer.step()
    if trainer.graph:
        trainer.capture()
        trainer.step()
    result = {"variant": variant, "warm_up_s": round(time.perf_counter() - began, 1)}
    if device == "cuda":
        torch.cuda.synchronize()
        result["memory_gib"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
    mark, spans = stopwatch(device)
    mark()
    for _ in range(steps):
        total = trainer.step(mark)
        if trainer.graph:
            mark()
    if device == "cuda":
        torch.cuda.synchronize()
    spans = spans()
    parts = 1 if trainer.graph else 3
    result["step_ms"] = statistics.median(sum(spans[i : i + parts]) for i in range(0, len(spans), parts))
    if parts == 3:
        result.update({name + "_ms": statistics.median(spans[i::3]) for i, name in enumerate(("forward", "backward", "optimiser"))})
    result["loss"] = total.item()
    return {k: round(v, 4) if isinstance(v, float) else v for k, v in result.items()}


def check(device, compiled):
    """largest difference of loss and gradients between the fast network and the golden one, fp32, without dropout"""
    worst = 0.0
    torch.set_float32_matmul_precision("highest")
    for r in (1, 2):
        config = dict(SIZES["small-test"], dropout=0.0, prenet_dropout=0.0, reduction_factor=r)
        batch, found = make_batch(5, 11, 30, config["n_mels"], 0.3, device), []
        for ops in (Plain, Fast):
            torch.manual_seed(1)
            network = Network(config, TRAINING, SYMBOLS, ops).to(device)
            loss = torch.compile(network.loss) if compiled and ops is Fast else network.loss
            terms, _ = loss(batch)
            terms.sum().backward()
            found.append([terms.detach()] + [p.grad for p in network.parameters()])
        worst = max([worst] + [((a - b).norm() / (1e-3 + a.norm())).item() for a, b in zip(*found)])
    print(f"largest relative difference to the golden network: {worst:.1e}", "ok" if worst < 1e-4 else "FAILED")
    return 0 if worst < 1e-4 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--size", choices=SIZES, default="tiny")
    for name, value in (("batch", 32), ("text", 200), ("mel", 800), ("r", 0), ("steps", 20), ("threads", 0)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--shortest", type=float, default=1.0)
    parser.add_argument("--variants", default="")
    for name in ("no-compile", "json", "check"):
        parser.add_argument("--" + name, action="store_true")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    if args.check:
        return check(args.device, not args.no_compile)
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(1)
    config = dict(SIZES[args.size])
    config["reduction_factor"] = args.r or config["reduction_factor"]
    batch = make_batch(args.batch, args.text, args.mel, config["n_mels"], args.shortest, args.device)
    names = args.variants.split(",") if args.variants else VARIANTS[args.device]
    results = []
    for name in names:
        if args.no_compile and "/eager/" not in name:
            continue
        try:
            results.append(measure(config, batch, args.device, name, args.steps))
        except Exception as e:  # a variant that this machine cannot run is reported, not fatal
            results.append({"variant": name, "error": f"{type(e).__name__}: {str(e).strip().splitlines()[0] if str(e).strip() else ''}"[:300]})
        if args.device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        print(results[-1], file=sys.stderr, flush=True)
    done = [r for r in results if "step_ms" in r]
    best = min(done, key=lambda r: r["step_ms"]) if done else None
    machine = torch.cuda.get_device_name() if args.device == "cuda" else f"cpu, {torch.get_num_threads()} threads"
    if args.json:
        print(json.dumps({"torch": torch.__version__, "device": machine, "size": args.size, "batch": args.batch, "text": args.text, "mel": args.mel,
                          "r": config["reduction_factor"], "shortest": args.shortest, "step_ms": best and best["step_ms"], "best": best and best["variant"],
                          "variants": results}))
    elif best:
        print(f"torch {torch.__version__}, {machine}: {best['step_ms']:.2f} ms per step ({best['variant']})")
    return 0 if best else 3


if __name__ == "__main__":
    sys.exit(main())
