#!/usr/bin/env python3
"""Training steps of the same network in PyTorch, made as fast as PyTorch goes: forward, alignment, loss, backward, clip, AdamW, dropout on.

usage: peers_train_step.py [--device cuda|cpu] [--size tiny|nano | --network JSON] [--batch 32] [--text 128] [--mel 800] [--steps 20]
                           [--threads N] [--variants NAME,...] [--limit S] [--budget S] [--json]
       peers_train_step.py ... --epoch FILE [--buckets 8]   useful frames per second over whole epochs; FILE: a line `tokens frames` for each clip
       peers_train_step.py [--device cuda|cpu] --check      network and search beside tests/golden/model.py; the search's kernel needs a GPU

Every row of the batch is full; in an epoch clips are sorted into buckets as src/pipeline/sampler.c does, and batches lie on the device.
--network: sizes as step_speed prints them. --limit: seconds for one variant, compilation included; --budget: for all of them together. A variant
that fails or runs out of time is reported. A variant is precision/compilation/attention/convolution[/graph]:
  fp32, autocast (bf16 autocast over fp32 weights), bf16 (bf16 weights and activations, fp32 masters in the optimiser);
  eager, default, dynamic (one compilation for all shapes), or a mode of torch.compile;
  flash, cudnn, efficient: kinds of scaled_dot_product_attention (sdpa: PyTorch's choice), without a mask where all rows are full;
  varlen: flash attention of variable length, which needs no mask (what is padding attends to itself);
  conv: conv2d in channels-last layout; unfold: neighbouring frames side by side and one matrix product;
  graph: the whole step, optimiser too, is one CUDA graph for each shape.
"""
import argparse
import contextlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

sys.dont_write_bytecode = True  # nothing beside the scripts
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "golden"))
from model import SIZES, TRAINING, Network, Plain, decays, scores, search_one, within  # noqa: E402

SYMBOLS = 200
TEXT_MULTIPLE, FRAME_MULTIPLE, MAX_BINS = 8, 8, 512  # of src/pipeline/sampler.c
BACKENDS = {"flash": [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH],
            "cudnn": [SDPBackend.CUDNN_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH],
            "efficient": [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]}
VARIANTS = {  # the likeliest first, the slowest to compile last
    "cpu": ["fp32/eager/sdpa/conv", "fp32/eager/sdpa/unfold", "fp32/default/sdpa/unfold"],
    "cuda": ["bf16/default/cudnn/unfold/graph", "bf16/default/flash/unfold/graph", "bf16/default/cudnn/conv/graph", "bf16/default/cudnn/unfold",
             "bf16/reduce-overhead/cudnn/unfold", "autocast/default/cudnn/unfold/graph", "bf16/max-autotune-no-cudagraphs/cudnn/unfold/graph"],
    "cpu epoch": ["fp32/eager/sdpa/conv"],
    "cuda epoch": ["bf16/dynamic/varlen/unfold/graph", "bf16/default/varlen/unfold/graph", "bf16/default/efficient/unfold/graph"],
}


# --- monotonic search ---

if triton:
    @triton.jit
    def _two_last(last_a, before_a, last_b, before_b):
        """joins two runs of numbers, each told by its last and the one before; infinity: there is none"""
        return last_b, tl.where(before_b == float("inf"), last_a, before_b)

    @triton.jit
    def _search_kernel(durations, first, score, text_length, mel_length, frames, SYMBOLS: tl.constexpr, BLOCK: tl.constexpr):
        """One item. For every frame m and symbol t, first[m, t] is the frame that t begins with on the best way to have it at m; the way back
        then takes one number for each symbol. score [B, M, T], first int16 [B, M, T], durations int32 [B, T]."""
        b = tl.program_id(0)
        symbols, length = tl.load(text_length + b).to(tl.int32), tl.load(mel_length + b).to(tl.int32)
        score += b.to(tl.int64) * frames * SYMBOLS
        first += b.to(tl.int64) * frames * SYMBOLS
        durations += b * SYMBOLS
        t = tl.arange(0, BLOCK)
        there = t < SYMBOLS
        nothing = tl.full([BLOCK], float("inf"), tl.float32)
        best = tl.where(t == 0, tl.load(score + t, mask=there, other=0.0), -float("inf"))
        began = tl.zeros([BLOCK], tl.int32)
        tl.store(first + t, began.to(tl.int16), mask=there)
        tl.store(durations + t, began, mask=there)
        for m in tl.range(1, length, num_stages=8):
            now = tl.load(score + m * SYMBOLS + t, mask=there, other=0.0)
            before = tl.associative_scan((best, nothing), 0, _two_last)[1]  # best of the symbol before
            before = tl.where(t == 0, -float("inf"), before)
            moved = before > best
            began = tl.where(moved, m, began)
            best = tl.where(moved, before, best) + now
            tl.store(first + m * SYMBOLS + t, began.to(tl.int16), mask=there)
        tl.debug_barrier()
        end = length
        for i in range(symbols):
            at = symbols - 1 - i
            begin = tl.load(first + (end - 1) * SYMBOLS + at, mask=end > 0, other=0).to(tl.int32)
            tl.store(durations + at, end - begin)
            end = begin


@torch.library.custom_op("peer::search", mutates_args=())
def search_op(score: torch.Tensor, text_length: torch.Tensor, mel_length: torch.Tensor) -> torch.Tensor:
    """durations [B, T] from scores [B, M, T] fp32; nothing waits for the device"""
    rows, frames, symbols = score.shape
    first = torch.empty(score.shape, dtype=torch.int16, device=score.device)
    durations = torch.empty((rows, symbols), dtype=torch.int32, device=score.device)
    block = max(32, triton.next_power_of_2(symbols))
    _search_kernel[(rows,)](durations, first, score, text_length, mel_length, frames, symbols, block, num_warps=1 if block <= 512 else 4)
    return durations


@search_op.register_fake
def _(score, text_length, mel_length):
    return score.new_empty((score.shape[0], score.shape[2]), dtype=torch.int32)


def search_host(score, text_length, mel_length):
    """The same on the CPU: all items at once, frame after frame."""
    score, symbols, length = score.numpy(), text_length.numpy(), mel_length.numpy()
    rows, frames, width = score.shape
    first, now = np.zeros((frames, rows, width), np.int32), np.zeros((rows, width), np.int32)
    best, before = np.full((rows, width), -np.inf, np.float32), np.full((rows, width), -np.inf, np.float32)
    best[:, 0] = score[:, 0, 0]
    for m in range(1, frames):
        before[:, 1:] = best[:, :-1]
        moved = before > best
        now[moved] = m
        np.maximum(best, before, out=best)
        best += score[:, m]
        first[m] = now
    durations, end, row = np.zeros((rows, width), np.int32), length.copy(), np.arange(rows)
    for t in range(symbols.max(initial=0) - 1, -1, -1):
        some = row[t < symbols]
        begin = first[end[some] - 1, some, t]
        durations[some, t] = end[some] - begin
        end[some] = begin
    return torch.from_numpy(durations)


search_op.register_kernel("cpu")(search_host)


# --- network ---

class Fast(Plain):
    """full: every row is as long as the batch"""

    def __init__(self, device, dtype, attention, convolution, full, longest, widths):
        self.device, self.kind, self.unfold, self.full = device, attention, convolution == "unfold", full
        like = torch.empty(0, dtype=dtype, device=device)
        self.tables = {width: Plain.positions(self, longest, width, like) for width in widths}

    def positions(self, time, width, like):
        return self.tables[width][:time]

    def embedding(self, tokens, table):
        """a product: its gradient is one too, and adds nothing atomically"""
        if self.device == "cpu":
            return F.embedding(tokens, table)
        return (tokens[:, :, None] == torch.arange(len(table), device=tokens.device)).to(table.dtype) @ table

    def attention(self, q, k, v, heads, length=None):
        rows, time = q.shape[:2]
        if self.kind == "varlen":
            from torch.nn.attention.varlen import varlen_attn
            start = torch.arange(rows, device=q.device) * time
            ends = torch.stack((start + length, start + time), 1).flatten()  # of what is real and of what is padding, row after row
            cut = F.pad(ends, (1, 0)).to(torch.int32)
            q, k, v = (x.unflatten(2, (heads, -1)).flatten(0, 1) for x in (q, k, v))
            return varlen_attn(q, k, v, cut, cut, time, time).unflatten(0, (rows, time)).flatten(2)
        q, k, v = (x.unflatten(2, (heads, -1)).transpose(1, 2) for x in (q, k, v))
        mask = None  # an empty row sees one key of its padding: no NaN, and nobody looks
        if not self.full:
            mask = within(length.clamp(min=1), time)[:, None, None, :].expand(-1, 1, time, -1)
        return F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2)

    def convolution(self, x, weight, bias):
        kernel, time = weight.shape[1], x.shape[1]
        if self.unfold:
            x = F.pad(x, (0, 0, kernel // 2, kernel // 2))
            return F.linear(torch.cat([x[:, i : i + time] for i in range(kernel)], 2), weight.flatten(1), bias)
        image = x.transpose(1, 2).unsqueeze(2)  # [B, C, 1, time]: [B, time, C] is what cuDNN calls channels last, no copies
        return F.conv2d(image, weight.permute(0, 2, 1).unsqueeze(2), bias, padding=(0, kernel // 2)).squeeze(2).transpose(1, 2)

    def search(self, mu, mel, text_length, mel_length):
        with torch.autocast(self.device, enabled=False):
            score = scores(mel.float(), mu.float())
        return search_op(score, text_length, mel_length)

    def spread(self, x, symbol):
        """a product with the alignment as a matrix of 0 and 1: the gradient is one too"""
        if self.device == "cpu":
            return super().spread(x, symbol)
        path = symbol[:, :, None] == torch.arange(x.shape[1], device=x.device)
        return path.to(x.dtype) @ x


def fast_ops(config, device, dtype, attention, convolution, full, longest):
    widths = {config[name + "_dim"] for name in ("text_encoder", "audio_encoder", "decoder")}
    return Fast(device, dtype, attention, convolution, full, longest, widths)


def make_batch(rows, text, mel, bands, device, shortest=1.0):
    """noise; rows are shortest .. 1 of the shape, evenly"""
    share = torch.linspace(1, shortest, rows)
    text_length, mel_length = ((share * n).round().to(torch.int32).clamp(min=1) for n in (text, mel))
    batch = {"tokens": torch.randint(1, 60, (rows, text)), "text_length": text_length, "mel_length": mel_length,
             "reference": (torch.arange(rows) + 1) % rows, "mel": torch.randn(rows, mel, bands), "pitch": torch.randn(rows, mel)}
    return {k: v.to(device) for k, v in batch.items()}


class Trainer:
    """One variant: step(batch) runs a training step and calls mark() at the ends of forward, backward and optimiser."""

    def __init__(self, config, device, variant, full, longest):
        self.precision, mode, attention, convolution, *rest = variant.split("/")
        self.graph, self.device, self.pool, self.dynamic = bool(rest), device, None, False
        self.backends = BACKENDS.get(attention)
        torch.manual_seed(1)
        dtype = torch.bfloat16 if self.precision == "bf16" else torch.float32
        network = Network(config, TRAINING, config.get("symbols", SYMBOLS), fast_ops(config, device, dtype, attention, convolution, full, longest))
        self.train(network, lambda batch: network.loss(batch)[0].sum(), decays, mode)

    def train(self, network, loss, decays, mode):
        """the optimiser of a network, and its loss compiled"""
        self.network, self.loss = network.to(self.device).train(), loss
        named = list(self.network.named_parameters())
        self.masters = [p for _, p in named]
        if self.precision == "bf16":
            self.masters = [p.detach().clone().requires_grad_() for p in self.masters]
            self.network.bfloat16()
            for m in self.masters:
                m.grad = torch.zeros_like(m)
        self.weights = list(self.network.parameters())
        self.parameters = sum(p.numel() for p in self.weights)
        groups = [{"params": [m for (n, _), m in zip(named, self.masters) if decays(n) == d], "weight_decay": 0.01 if d else 0.0} for d in (True, False)]
        self.adam = torch.optim.AdamW(groups, lr=1e-4, betas=(0.9, 0.98), fused=True, capturable=self.graph)
        if mode != "eager":
            torch._dynamo.config.cache_size_limit = 64  # shapes of an epoch
            self.dynamic = mode == "dynamic"
            self.loss = torch.compile(loss, dynamic=None if self.dynamic else False, mode=None if mode in ("default", "dynamic") else mode)

    def step(self, batch, mark=lambda: None):
        if self.device == "cuda" and not self.graph:
            torch.compiler.cudagraph_mark_step_begin()
        with sdpa_kernel(self.backends, set_priority=True) if self.backends else contextlib.nullcontext():
            with torch.autocast(self.device, torch.bfloat16, enabled=self.precision == "autocast", cache_enabled=not self.graph):
                total = self.loss(batch)
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

    def prepare(self, batch):
        """compiles and warms up; a function that makes a step with what then stands in the batch"""
        for key in ("tokens", "mel", "pitch") if self.dynamic else ():
            torch._dynamo.maybe_mark_dynamic(batch[key], 1)
        for _ in range(3):
            self.step(batch)
        if not self.graph:
            return lambda mark=lambda: None: self.step(batch, mark)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.step(batch)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            total = self.step(batch)
        self.pool = self.pool or graph.pool()

        def replay(mark=None):
            graph.replay()
            return total
        return replay


# --- an epoch ---

def round_to(n, multiple):
    return (n + multiple - 1) // multiple * multiple


def choose_buckets(clips, count):
    """[(text, frames)] of the buckets and the bucket of each clip, as src/pipeline/sampler.c does"""
    frames = np.maximum(clips[:, 1], 1)
    width = round_to(int(frames.max()) // MAX_BINS + 1, FRAME_MULTIPLE)
    where = (frames - 1) // width
    bins = np.unique(where)
    weight = np.array([(where == i).sum() for i in bins], float)
    edge = np.array([round_to(int(frames[where == i].max()), FRAME_MULTIPLE) for i in bins])
    count, total = min(count, len(bins)), np.concatenate(([0.0], weight.cumsum()))
    cost, back = np.full(len(bins) + 1, np.inf), []
    cost[0] = 0
    for _ in range(count):
        now, source = np.full(len(bins) + 1, np.inf), np.zeros(len(bins) + 1, int)
        for j in range(1, len(bins) + 1):  # bins i .. j - 1 form the last bucket
            tried = cost[:j] + (total[j] - total[:j]) * edge[j - 1]
            source[j] = tried.argmin()
            now[j] = tried[source[j]]
        cost = now
        back.append(source)
    borders, j = [], len(bins)
    for source in reversed(back):
        borders.insert(0, int(edge[j - 1]))
        j = source[j]
    bucket, text = np.searchsorted(borders, frames), 0
    shapes = []
    for b, border in enumerate(borders):
        text = max([text] + [round_to(int(t), TEXT_MULTIPLE) for t in clips[bucket == b, 0]])
        shapes.append((text, border))
    return shapes, bucket


def plan_epoch(clips, rows, count):
    """shapes, and the batches: (number of the shape, clips); what is left over in a bucket moves to the next"""
    shapes, bucket = choose_buckets(clips, count)
    draw, left, batches = random.Random(1), [], []
    for b in range(len(shapes)):
        members = np.flatnonzero(bucket == b).tolist()
        draw.shuffle(members)
        left += members
        while len(left) >= rows:
            batches.append((b, left[:rows]))
            left = left[rows:]
    if left:
        batches.append((len(shapes) - 1, left))
    draw.shuffle(batches)
    return shapes, batches


def measure_epoch(config, args, variant):
    clips = np.loadtxt(args.epoch, dtype=np.int64, ndmin=2)
    shapes, batches = plan_epoch(clips, args.batch, args.buckets)
    began, device = time.perf_counter(), args.device
    trainer = Trainer(config, device, variant, False, max(max(s) for s in shapes))
    source = [make_batch(args.batch, *shape, config["n_mels"], device) for shape in shapes]
    static = [{k: v.clone() for k, v in batch.items()} for batch in source]
    lengths = torch.zeros(len(batches), 2, args.batch, dtype=torch.int32)
    for i, (_, members) in enumerate(batches):
        lengths[i, :, : len(members)] = torch.from_numpy(clips[members].T)
    lengths = lengths.to(device)

    def fill(i):
        b = batches[i][0]
        for key, value in source[b].items():
            static[b][key].copy_(lengths[i, 0] if key == "text_length" else lengths[i, 1] if key == "mel_length" else value)
        return b
    steps = {}
    for i, (b, _) in enumerate(batches):
        if b not in steps:
            fill(i)
            steps[b] = trainer.prepare(static[b])
    for i in range(min(len(batches), 8)):
        steps[fill(i)]()
    if device == "cuda":
        torch.cuda.synchronize()
    warm, began = time.perf_counter() - began, time.perf_counter()
    for _ in range(args.epochs):
        for i in range(len(batches)):
            total = steps[fill(i)]()
    loss = total.item()
    seconds = (time.perf_counter() - began) / args.epochs
    padded = sum(args.batch * shapes[b][1] for b, _ in batches)
    return {"variant": variant, "warm_up_s": warm, "frames_per_s": float(clips[:, 1].sum()) / seconds, "epoch_s": seconds,
            "step_ms": 1e3 * seconds / len(batches), "batches": len(batches), "clips": len(clips), "frames": int(clips[:, 1].sum()),
            "padding": 1 - float(clips[:, 1].sum()) / padded, "shapes": shapes, "loss": loss, "parameters": trainer.parameters}


# --- a step ---

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


def measure_step(config, args, variant):
    batch = make_batch(args.batch, args.text, args.mel, config["n_mels"], args.device)
    return time_steps(Trainer(config, args.device, variant, True, max(args.text, args.mel)), batch, args, variant)


def time_steps(trainer, batch, args, variant):
    began, device = time.perf_counter(), args.device
    step = trainer.prepare(batch)
    for _ in range(1 if device == "cpu" else 5):
        step()
    result = {"variant": variant, "warm_up_s": time.perf_counter() - began}
    if device == "cuda":
        torch.cuda.synchronize()
        result["memory_gib"] = torch.cuda.max_memory_allocated() / 2**30
    mark, spans = stopwatch(device)
    mark()
    for _ in range(args.steps):
        total = step(mark)
        if trainer.graph:
            mark()
    if device == "cuda":
        torch.cuda.synchronize()
    spans = spans()
    parts = 1 if trainer.graph else 3
    result["step_ms"] = statistics.median(sum(spans[i : i + parts]) for i in range(0, len(spans), parts))
    result["frames_per_s"] = args.batch * args.mel / result["step_ms"] * 1e3
    if parts == 3:
        result.update({name + "_ms": statistics.median(spans[i::3]) for i, name in enumerate(("forward", "backward", "optimiser"))})
    result.update(loss=total.item(), parameters=trainer.parameters)
    return result


def measure(config, args, variant):
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(1)
    result = (measure_epoch if args.epoch else measure_step)(config, args, variant)
    return {k: round(v, 4) if isinstance(v, float) else v for k, v in result.items()}


def run_variant(variant, seconds):
    """in a process of its own, so that it can be stopped, and one that fails takes nothing with it"""
    child = subprocess.Popen([sys.executable, os.path.abspath(sys.argv[0]), *sys.argv[1:], "--worker", variant], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        out, err = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return {"variant": variant, "error": f"stopped after {seconds:.0f} s"}
    lines = [line for line in out.splitlines() if line.startswith("{")]
    if child.returncode == 0 and lines:
        return json.loads(lines[-1])
    said = [line for line in err.splitlines() if line.strip()]
    errors = [line for line in said if not line.startswith(" ") and "Error" in line] or said or [f"ended with {child.returncode}"]
    return {"variant": variant, "error": errors[-1][:300]}


def race(args, variants, about):
    """all variants, one after the other; prints the fastest, with --json all of them"""
    results, began = [], time.perf_counter()
    for name in args.variants.split(",") if args.variants else variants:
        if args.no_compile and "eager" not in name.split("/"):
            continue
        left = args.budget - (time.perf_counter() - began) if args.budget else args.limit
        results.append(run_variant(name, min(left, args.limit)) if left > 10 else {"variant": name, "error": "no time left for it"})
        print(results[-1], file=sys.stderr, flush=True)
    done = [r for r in results if "frames_per_s" in r]
    best = max(done, key=lambda r: r["frames_per_s"]) if done else None
    machine = torch.cuda.get_device_name() if args.device == "cuda" else f"cpu, {torch.get_num_threads()} threads"
    if args.json:
        print(json.dumps({"torch": torch.__version__, "device": machine, **about, "step_ms": best and best["step_ms"],
                          "frames_per_s": best and best["frames_per_s"], "best": best and best["variant"], "variants": results}))
    elif best:
        print(f"torch {torch.__version__}, {machine}: {best['step_ms']:.2f} ms per step, {best['frames_per_s']:.0f} frames per second ({best['variant']})")
    return 0 if best else 3


# --- correctness ---

def check_search(kernel):
    """how many of many random items get other durations than from numpy; scores are small integers in half of them, so that there are ties"""
    draw, wrong, items = np.random.default_rng(3), 0, 0
    for symbols, frames in ((1, 8), (7, 8), (8, 8), (24, 160), (128, 800), (200, 1000)) if kernel == "cuda" else ((5, 8), (8, 8), (40, 64)):
        for ties in (False, True):
            score = draw.integers(-2, 3, (9, frames, symbols)).astype(np.float32) if ties else draw.standard_normal((9, frames, symbols), np.float32)
            text = np.concatenate(([symbols, symbols, 0, 1], draw.integers(1, symbols + 1, 5))).astype(np.int32)
            mel = np.array([frames, symbols, 0, frames] + [draw.integers(t, frames + 1) for t in text[4:]], np.int32)
            arguments = [torch.from_numpy(x).to(kernel) for x in (score, text, mel)]
            found = search_op(*arguments).cpu().numpy()
            for b in range(9):
                right = np.zeros(symbols, np.int64)
                if mel[b]:
                    right[: text[b]] = search_one(score[b, : mel[b], : text[b]])
                wrong, items = wrong + (not np.array_equal(found[b], right)), items + 1
    print(f"search on {kernel}: {wrong} of {items} items differ from numpy", "FAILED" if wrong else "ok")
    return not wrong


def check_network(device, compiled):
    """largest difference of loss and gradients between the fast network and the golden one, fp32, without dropout, padded rows and an empty one"""
    torch.set_float32_matmul_precision("highest")
    config = dict(SIZES["test"], dropout=0.0)
    batch = make_batch(5, 16, 40, config["n_mels"], device, 0.3)
    batch["text_length"][3] = batch["mel_length"][3] = 0
    worst, expected = 0.0, None
    for ops in (None, ("sdpa", "conv"), ("sdpa", "unfold")):
        torch.manual_seed(1)
        network = Network(config, TRAINING, SYMBOLS, ops and fast_ops(config, device, torch.float32, *ops, False, 40)).to(device)
        terms, _ = (torch.compile(network.loss) if ops and compiled else network.loss)(batch)
        terms.sum().backward()
        found = [terms.detach()] + [p.grad for p in network.parameters()]
        expected = expected or found
        worst = max([worst] + [((a - b).norm() / (1e-3 + a.norm())).item() for a, b in zip(expected, found)])
    print(f"largest relative difference to the golden network: {worst:.1e}", "ok" if worst < 1e-4 else "FAILED")
    return worst < 1e-4


def check_varlen():
    """attention of variable length, bf16, beside the golden one where rows are real: it has no fp32"""
    config, draw = SIZES["tiny"], torch.Generator("cuda").manual_seed(1)
    ops = fast_ops(config, "cuda", torch.bfloat16, "varlen", "unfold", False, 64)
    q, k, v = (torch.randn(4, 64, 384, generator=draw, device="cuda").bfloat16().requires_grad_() for _ in range(3))
    length = torch.tensor([64, 17, 1, 0], device="cuda", dtype=torch.int32)
    real = within(length, 64)[:, :, None]
    found = []
    for some in (ops, Plain()):
        out = some.attention(q, k, v, 6, length) * real
        found.append([out] + list(torch.autograd.grad((out.float() ** 2).sum(), (q, k, v))))
    worst = max(((a - b).float().norm() / b.float().norm()).item() for a, b in zip(*found))
    print(f"attention of variable length: relative difference {worst:.1e}", "ok" if worst < 0.02 else "FAILED")
    return worst < 0.02


def check(device, compiled):
    good = [check_network(device, compiled), check_search("cpu")]
    if device == "cuda":
        good += [check_search("cuda"), check_varlen()]
    else:
        print("search on cuda: SKIPPED (no GPU)")
    return 0 if all(good) else 1


def parse(help_text, sizes, size, numbers):
    """numbers: options with their defaults, beside those that every peer has"""
    parser = argparse.ArgumentParser(description=help_text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--size", choices=sizes, default=size)
    parser.add_argument("--network", type=json.loads, default={})
    for name, value in numbers.items():
        parser.add_argument("--" + name, type=int, default=value)
    for name, value in (("limit", 240.0), ("budget", 0.0)):
        parser.add_argument("--" + name, type=float, default=value)
    for name in ("variants", "epoch", "worker"):
        parser.add_argument("--" + name, default="")
    for name in ("no-compile", "json", "check"):
        parser.add_argument("--" + name, action="store_true")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    return args


def main():
    args = parse(__doc__, SIZES, "tiny", {"batch": 32, "text": 128, "mel": 800, "steps": 20, "threads": 0, "buckets": 8, "epochs": 2})
    if args.check:
        return check(args.device, not args.no_compile)
    config = {**SIZES[args.size], **args.network}
    if args.worker:
        print(json.dumps(measure(config, args, args.worker)))
        return 0
    about = {"network": config, "batch": args.batch, "text": args.text, "mel": args.mel}
    return race(args, VARIANTS[args.device + (" epoch" if args.epoch else "")], about)


if __name__ == "__main__":
    sys.exit(main())
