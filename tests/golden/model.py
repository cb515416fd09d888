#!/usr/bin/env python3
"""The network of docs/MODEL.md in PyTorch, written from that page, and the golden files made with it (needs torch, numpy, safetensors).

usage: model.py [--check]                                       model.safetensors, model_plain.safetensors and model_languages.safetensors
       model.py --output FILE [--size test|plain-test|languages-test|nano|tiny] [--seed N] [--set KEY=VALUE]... [--check]

Random weights (every bias, norm and position scale too) and a random padded batch go in; losses, outputs, gradients and ten
steps of AdamW come out, computed in float64 and written as float32. Outputs are 0 where the loss does not look. test has a voice and
style tokens, plain-test neither of them, Huber for L1 and other widths, languages-test three languages. The best alignment of every row is clear at each of the steps (by MARGIN
of the sum of the scores' sizes along it, so that float32 finds the same); seeds that fall short are passed over, and metadata names the one taken.
--check writes nothing: gradients against finite differences, the search against all alignments, rubbish as padding changes nothing, and
FILE holds the same numbers.

In the file:  batch.*  param.NAME  grad.NAME   and the metadata config (YAML), symbols, languages, seed and the settings of AdamW
  loss.terms [5] mel, align, duration, pitch, energy;  loss.total [1];  losses [10] of the steps
  out.durations int32 [B, T], out.symbol_pitch, out.symbol_energy [B, T] of the clip;  out.mu [B, T, n], out.traits [B, T, 3], out.mel [B, M, n]
"""
import argparse
import itertools
import math
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

STEPS = 10
MARGIN = 1e-3
NANO = dict(text_encoder_dim=128, text_encoder_layers=3, text_encoder_heads=2, audio_encoder_dim=128, audio_encoder_layers=1,
            audio_encoder_heads=2, decoder_dim=128, decoder_layers=4, decoder_heads=2, speaker_embedding_dim=64, use_voice_conditioning=True,
            use_gst=True, gst_num_style_tokens=10, gst_num_heads=4, predictor_dim=128, feed_forward_ratio=3, dropout=0.1, n_mels=80)
TINY = dict(NANO, text_encoder_dim=384, text_encoder_layers=4, text_encoder_heads=6, audio_encoder_dim=256, audio_encoder_layers=2,
            audio_encoder_heads=4, decoder_dim=384, decoder_layers=6, decoder_heads=6, speaker_embedding_dim=256, predictor_dim=256)
# Widths that are small and not alike, so that one taken for another is seen.
TEST = dict(NANO, text_encoder_dim=16, text_encoder_layers=2, audio_encoder_dim=24, audio_encoder_heads=3, decoder_dim=32, decoder_layers=1,
            speaker_embedding_dim=8, gst_num_style_tokens=3, gst_num_heads=2, predictor_dim=20, feed_forward_ratio=2, n_mels=10)
PLAIN_TEST = dict(TEST, text_encoder_dim=24, text_encoder_layers=1, text_encoder_heads=3, decoder_dim=16, decoder_layers=2, predictor_dim=12,
                  feed_forward_ratio=3, n_mels=9, use_voice_conditioning=False)
LANGUAGES_TEST = dict(PLAIN_TEST, languages=3)
SIZES = {"test": TEST, "plain-test": PLAIN_TEST, "languages-test": LANGUAGES_TEST, "nano": NANO, "tiny": TINY}
TRAINING = dict(mel_loss="l1", huber_delta=1.0, mel_loss_weight=1.0, align_loss_weight=1.0, duration_loss_weight=1.0, pitch_loss_weight=0.5,
                energy_loss_weight=0.5)
FILES = {"model.safetensors": "test", "model_plain.safetensors": "plain-test", "model_languages.safetensors": "languages-test"}


def within(length, size):
    """bool [B, size]: what is real"""
    return torch.arange(size, device=length.device) < length[:, None]


# --- alignment ---

def scores(mel, mu):
    """of frame m for symbol t, [M, T] (or [B, M, T])"""
    return mel @ mu.swapaxes(-1, -2) - (mu * mu).sum(-1)[..., None, :] / 2


def best_sums(score):
    """[M, T] the best sum of an alignment of frames 0 .. m whose last symbol is t, and bool [M, T]: frame m is the symbol's first"""
    best = np.full(score.shape, -np.inf)
    moved = np.zeros(score.shape, bool)
    best[0, 0], moved[0, 0] = score[0, 0], True
    for m in range(1, len(score)):
        before = np.concatenate(([-np.inf], best[m - 1, :-1]))
        moved[m] = before > best[m - 1]  # a tie: the symbol goes on
        best[m] = np.maximum(before, best[m - 1]) + score[m]
    return best, moved


def search_one(score):
    """frames of each symbol, [T]; T <= M"""
    frames, symbols = score.shape
    moved, d, t = best_sums(score)[1], np.zeros(symbols, np.int64), symbols - 1
    for m in range(frames - 1, -1, -1):
        d[t] += 1
        t -= moved[m, t]
    return d


def margin(score):
    """how much better the best alignment is than any other, over the sum of the sizes of its scores; infinite where there is but one"""
    best, back = best_sums(score)[0], best_sums(score[::-1, ::-1])[0][::-1, ::-1]
    symbol = np.repeat(np.arange(score.shape[1]), search_one(score))
    with np.errstate(invalid="ignore"):
        through = best + back - score  # the best alignment that gives frame m to symbol t
    through[np.isnan(through)] = -np.inf
    at = np.arange(len(score)), symbol
    through[at] = -np.inf  # any other alignment leaves these somewhere
    return (best[-1, -1] - through.max()) / np.abs(score[at]).sum()


class Plain:
    """The operations that a faster network may replace. x: [B, time, C]; length: int [B], None shows all."""

    def positions(self, time, width, like):
        kind = torch.float64 if like.dtype == torch.float64 else torch.float32
        t, i = torch.arange(time, device=like.device, dtype=kind), torch.arange(0, width, 2, device=like.device, dtype=kind)
        angle = t[:, None] / 10000 ** (i / width)
        return torch.stack((angle.sin(), angle.cos()), 2).flatten(1)[:, :width].to(like.dtype)

    def embedding(self, tokens, table):
        return table[tokens]

    def attention(self, q, k, v, heads, length=None):
        q, k, v = (x.unflatten(2, (heads, -1)).transpose(1, 2) for x in (q, k, v))
        score = q @ k.transpose(2, 3) / math.sqrt(q.shape[3])  # [B, heads, queries, keys]
        if length is not None:
            seen = within(length, k.shape[2])[:, None, None, :]
            score = score.masked_fill(~seen, torch.finfo(score.dtype).min).softmax(3) * seen  # no keys: zeros
        else:
            score = score.softmax(3)
        return (score @ v).transpose(1, 2).flatten(2)

    def convolution(self, x, weight, bias):
        """weight [out, kernel, in]; zeros outside"""
        return F.conv1d(x.transpose(1, 2), weight.permute(0, 2, 1), bias, padding=weight.shape[1] // 2).transpose(1, 2)

    def search(self, mu, mel, text_length, mel_length):
        """frames of each symbol, [B, T]"""
        mu, mel, d = mu.detach().double().cpu().numpy(), mel.double().cpu().numpy(), np.zeros(mu.shape[:2], np.int64)
        for b, (symbols, frames) in enumerate(zip(text_length.tolist(), mel_length.tolist())):
            if frames:
                d[b, :symbols] = search_one(scores(mel[b, :frames], mu[b, :symbols]))
        return torch.from_numpy(d).to(text_length.device)

    def spread(self, x, symbol):
        """x at the symbol of each frame, zero where there is none (-1); [B, M, C]"""
        return x.gather(1, symbol.clamp(min=0)[:, :, None].expand(-1, -1, x.shape[2])) * (symbol >= 0)[:, :, None]


def symbol_of_frame(d, frames):
    """[B, M]; -1 behind the last"""
    end, m = d.cumsum(1), torch.arange(frames, device=d.device)
    symbol = (m[None, :, None] >= end[:, None, :]).sum(2)
    return symbol.masked_fill(m >= end[:, -1:], -1)


def symbol_means(x, symbol, d):
    """x [B, M] -> its mean over the frames of each symbol, [B, T]"""
    total = x.new_zeros(len(x), d.shape[1] + 1).scatter_add(1, symbol + 1, x)[:, 1:]  # column 0: frames of no symbol
    return total / d.clamp(min=1)


# --- network ---

class Conv(nn.Module):
    def __init__(self, ops, inputs, outputs, kernel):
        super().__init__()
        self.ops = ops
        self.weight = nn.Parameter(torch.randn(outputs, kernel, inputs) / math.sqrt(kernel * inputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x, real):
        return self.ops.convolution(x * real[:, :, None], self.weight, self.bias) * real[:, :, None]


class Layer(nn.Module):
    def __init__(self, ops, c, width, heads):
        super().__init__()
        self.ops, self.heads, self.dropout = ops, heads, c["dropout"]
        self.norm_self, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm_feed, self.up = nn.LayerNorm(width), Conv(ops, width, c["feed_forward_ratio"] * width, 3)
        self.down = nn.Linear(c["feed_forward_ratio"] * width, width)

    def drop(self, x):
        return F.dropout(x, self.dropout, self.training)

    def forward(self, x, length, real):
        q, k, v = self.qkv(self.norm_self(x)).chunk(3, 2)
        x = x + self.drop(self.out(self.ops.attention(q, k, v, self.heads, length)))
        return x + self.drop(self.down(F.relu(self.up(self.norm_feed(x), real))))


class Stack(nn.Module):
    """Base of the three stacks of layers: position scale, layers, last norm."""

    def __init__(self, ops, c, name):
        super().__init__()
        self.ops, self.dropout, self.width = ops, c["dropout"], c[name + "_dim"]
        self.position = nn.Parameter(torch.ones(1))
        self.layers = nn.ModuleList(Layer(ops, c, self.width, c[name + "_heads"]) for _ in range(c[name + "_layers"]))
        self.norm = nn.LayerNorm(self.width)

    def stack(self, x, length, added=0):
        real = within(length, x.shape[1])
        x = F.dropout(x + self.position * self.ops.positions(x.shape[1], self.width, x), self.dropout, self.training) + added
        for layer in self.layers:
            x = layer(x, length, real)
        return self.norm(x)


class Text(Stack):
    def __init__(self, ops, c, symbols, languages):
        super().__init__(ops, c, "text_encoder")
        self.symbols = nn.Parameter(0.1 * torch.randn(symbols, self.width))
        self.languages = nn.Parameter(0.1 * torch.randn(languages, self.width)) if languages else None
        self.prior = nn.Linear(self.width, c["n_mels"])

    def forward(self, tokens, length, language=None):
        added = 0 if self.languages is None else self.languages[language][:, None]
        return self.stack(self.ops.embedding(tokens, self.symbols), length, added)


class Voice(Stack):
    def __init__(self, ops, c):
        super().__init__(ops, c, "audio_encoder")
        size = c["speaker_embedding_dim"]
        self.heads, self.gst = c["gst_num_heads"], c["use_gst"]
        self.conv1, self.conv2 = Conv(ops, 4 * c["n_mels"], self.width, 5), Conv(ops, self.width, self.width, 5)
        self.speaker = nn.Linear(self.width, size)
        if self.gst:
            self.style_tokens = nn.Parameter(0.5 * torch.randn(c["gst_num_style_tokens"], size))
            self.style_query = nn.Linear(self.width, size)
            self.style_key, self.style_value, self.style_out = (nn.Linear(size, size, bias=b) for b in (False, True, True))
        self.to_text = nn.Linear(size, c["text_encoder_dim"])

    def forward(self, mel, mel_length):
        """the voice vector of every row, [B, S]; mel is zero behind the end"""
        length = (mel_length + 3) // 4
        x = mel.unflatten(1, (-1, 4)).flatten(2)
        real = within(length, x.shape[1])
        x = self.stack(F.relu(self.conv2(F.relu(self.conv1(x, real)), real)), length)
        pooled = (x * real[:, :, None]).sum(1) / length.clamp(min=1)[:, None]
        voice = self.speaker(pooled)
        if self.gst:
            key, value = (f(self.style_tokens).expand(len(mel), -1, -1) for f in (self.style_key, self.style_value))
            style = Plain.attention(self.ops, self.style_query(pooled)[:, None], key, value, self.heads)
            voice = voice + self.style_out(style)[:, 0]
        return voice


class Predictor(nn.Module):
    def __init__(self, ops, c):
        super().__init__()
        width, self.dropout = c["predictor_dim"], c["dropout"]
        self.conv1, self.norm1 = Conv(ops, c["text_encoder_dim"], width, 3), nn.LayerNorm(width)
        self.conv2, self.norm2 = Conv(ops, width, width, 3), nn.LayerNorm(width)
        self.traits = nn.Linear(width, 3)

    def forward(self, x, real):
        """log duration, pitch, energy, [B, T, 3]"""
        for conv, norm in ((self.conv1, self.norm1), (self.conv2, self.norm2)):
            x = F.dropout(norm(F.relu(conv(x, real))), self.dropout, self.training)
        return self.traits(x)


class Decoder(Stack):
    def __init__(self, ops, c):
        super().__init__(ops, c, "decoder")
        text = c["text_encoder_dim"]
        self.pitch, self.energy = (nn.Parameter(0.1 * torch.randn(text)) for _ in range(2))
        self.lift, self.mel = nn.Linear(text, self.width), nn.Linear(self.width, c["n_mels"])

    def forward(self, memory, pitch, energy, symbol, mel_length):
        states = self.lift(memory + pitch.to(memory)[:, :, None] * self.pitch + energy.to(memory)[:, :, None] * self.energy)
        return self.mel(self.stack(self.ops.spread(states, symbol), mel_length))


class Network(nn.Module):
    """batch: tokens [B, T], text_length, mel_length, reference [B], mel [B, M, n], pitch [B, M]; language [B] where there are several"""

    def __init__(self, config, training, symbols, ops=None, languages=0):
        super().__init__()
        self.config, self.loss_config, self.ops = config, training, ops or Plain()
        self.text = Text(self.ops, config, symbols, languages)
        if config["use_voice_conditioning"]:
            self.voice = Voice(self.ops, config)
        self.predictor = Predictor(self.ops, config)
        self.decoder = Decoder(self.ops, config)

    def encode(self, batch):
        memory = self.text(batch["tokens"], batch["text_length"], batch.get("language"))
        if self.config["use_voice_conditioning"]:
            frames = within(batch["mel_length"], batch["mel"].shape[1])
            voice = self.voice((batch["mel"] * frames[:, :, None]).to(memory), batch["mel_length"])[batch["reference"]]
            memory = memory + self.voice.to_text(voice)[:, None]
        return memory, self.text.prior(memory)

    def loss(self, batch):
        """mel, align, duration, pitch, energy, each divided by the real frames; and what was computed, 0 where it does not count"""
        w, bands, mel = self.loss_config, self.config["n_mels"], batch["mel"]
        kind, frames = mel.dtype, within(batch["mel_length"], mel.shape[1])
        symbols = within(batch["text_length"], batch["tokens"].shape[1])
        memory, mu = self.encode(batch)
        traits = self.predictor(memory.detach(), symbols).to(kind)
        with torch.no_grad():
            d = self.ops.search(mu, mel, batch["text_length"], batch["mel_length"])
            symbol = symbol_of_frame(d, mel.shape[1])
            pitch, energy = (symbol_means(x, symbol, d) for x in (batch["pitch"], mel.mean(2)))
            real_d = d.clamp(min=1).to(kind)
        out = self.decoder(memory, pitch, energy, symbol, batch["mel_length"]).to(kind)
        distance = (out - mel).abs() if w["mel_loss"] == "l1" else F.huber_loss(out, mel, reduction="none", delta=w["huber_delta"])
        square = (mel - self.ops.spread(mu, symbol).to(kind)) ** 2
        length = traits[:, :, 0]
        terms = torch.stack((
            w["mel_loss_weight"] / bands * (distance * frames[:, :, None]).sum(),
            w["align_loss_weight"] / (2 * bands) * (square * frames[:, :, None]).sum(),
            w["duration_loss_weight"] * ((length.exp() - real_d + real_d * (real_d.log() - length)) * symbols).sum(),
            w["pitch_loss_weight"] * ((traits[:, :, 1] - pitch) ** 2 * symbols).sum(),
            w["energy_loss_weight"] * ((traits[:, :, 2] - energy) ** 2 * symbols).sum())) / frames.sum()
        return terms, {"mel": out * frames[:, :, None], "mu": mu * symbols[:, :, None], "traits": traits * symbols[:, :, None],
                       "durations": d, "symbol_pitch": pitch, "symbol_energy": energy}


def decays(name):
    """matrices, kernels, symbols and style tokens; not biases, norms, position scales and the weights of pitch and energy"""
    return not (name.endswith((".bias", ".position", "decoder.pitch", "decoder.energy")) or ".norm" in name)


# --- golden files ---

def random_weights(network, draw):
    for name, p in network.named_parameters():
        noise = torch.randn(p.shape, generator=draw)
        if name.endswith(".weight") and ".norm" in name or name.endswith(".position"):
            p.data = 1 + 0.2 * noise
        elif name.endswith(".weight"):
            p.data = noise / math.sqrt(p[0].numel())
        else:
            p.data = (0.5 if p.dim() > 1 else 0.2) * noise
    return network.double()


def random_batch(config, symbols, draw, time=9, frames=16):
    """a full row, one with a frame for each symbol, an empty one, one of a single symbol; references exchange rows, repeat and name the row itself"""
    text, mel = torch.tensor([time, 5, 6, 0, time - 1, 1]), torch.tensor([frames, 7, 6, 0, 13, 3])
    real = within(mel, frames)
    return {"tokens": torch.randint(symbols, (6, time), generator=draw) * within(text, time), "text_length": text, "mel_length": mel,
            "reference": torch.tensor([1, 0, 2, 4, 1, 0]),
            "mel": (torch.randn(6, frames, config["n_mels"], generator=draw) * real[:, :, None]).double(),
            "pitch": (torch.randn(6, frames, generator=draw) * real).double()}


def smallest_margin(network, batch):
    with torch.no_grad():
        mu, mel = network.encode(batch)[1].numpy(), batch["mel"].numpy()
    rows = zip(mel, mu, batch["mel_length"].tolist(), batch["text_length"].tolist())
    return min(margin(scores(x[:frames], m[:symbols])) for x, m, frames, symbols in rows if frames)


def train(network, batch, o):
    """the losses seen by STEPS steps of AdamW, and the smallest margin of an alignment on the way"""
    named = list(network.named_parameters())
    groups = [{"params": [p for n, p in named if decays(n) == d], "weight_decay": o["weight_decay"] if d else 0.0} for d in (True, False)]
    adam, losses, clear = torch.optim.AdamW(groups, lr=o["lr"], betas=(o["beta1"], o["beta2"]), eps=o["eps"]), [], math.inf
    for _ in range(STEPS):
        adam.zero_grad()
        clear = min(clear, smallest_margin(network, batch))
        total = network.loss(batch)[0].sum()
        total.backward()
        nn.utils.clip_grad_norm_(network.parameters(), o["clip"])
        adam.step()
        losses.append(total.item())
    return losses, clear


def yaml_text(sections):
    def word(v):
        return str(v).lower() if isinstance(v, bool) else str(v)
    return "".join(f"{name}:\n" + "".join(f"  {k}: {word(v)}\n" for k, v in keys.items()) for name, keys in sections.items())


def check_gradients(network, batch, draw):
    worst = 0.0
    for _, p in network.named_parameters():
        way, at, h, value = torch.randn(p.shape, generator=draw).double(), p.data.clone(), 1e-6, []
        for sign in (1, -1):
            p.data = at + sign * h * way
            value.append(network.loss(batch)[0].sum().item())
        p.data = at
        slope, expected = (value[0] - value[1]) / (2 * h), (p.grad * way).sum().item()
        worst = max(worst, abs(slope - expected) / (1 + abs(expected)))
    return worst


def check_padding(network, batch, draw):
    """Longer padding, all of it rubbish."""
    wide = dict(batch, tokens=F.pad(batch["tokens"], (0, 5)), mel=F.pad(batch["mel"], (0, 0, 0, 8)), pitch=F.pad(batch["pitch"], (0, 8)))
    text, mel = within(batch["text_length"], wide["tokens"].shape[1]), within(batch["mel_length"], wide["mel"].shape[1])
    wide["tokens"] = torch.where(text, wide["tokens"], torch.randint(5, text.shape, generator=draw))
    wide["mel"] = torch.where(mel[:, :, None], wide["mel"], torch.randn(wide["mel"].shape, generator=draw).double())
    wide["pitch"] = torch.where(mel, wide["pitch"], torch.randn(mel.shape, generator=draw).double())
    return (network.loss(wide)[0] - network.loss(batch)[0]).abs().max().item()


def check_search(seed):
    """the largest difference of durations, and of the margin, from those of trying every alignment"""
    draw, worst = np.random.default_rng(seed), 0.0
    for _ in range(200):
        symbols = draw.integers(1, 6)
        score = draw.standard_normal((draw.integers(symbols, 10), symbols))
        ways = [np.diff((0, *cut, len(score))) for cut in itertools.combinations(range(1, len(score)), symbols - 1)]
        value = [score[np.arange(len(score)), np.repeat(np.arange(symbols), d)] for d in ways]
        order = sorted(range(len(ways)), key=lambda i: -value[i].sum())
        worst = max(worst, np.abs(search_one(score) - ways[order[0]]).max())
        if len(ways) > 1:
            gap = (value[order[0]].sum() - value[order[1]].sum()) / np.abs(value[order[0]]).sum()
            worst = max(worst, abs(margin(score) - gap))
    return worst


def make(output, size, first_seed, settings, check):
    from safetensors import safe_open
    from safetensors.torch import save_file
    config = dict(SIZES[size], dropout=0)
    languages = config.pop("languages", 0)
    training = dict(TRAINING, mel_loss_weight=1.5, align_loss_weight=0.7, duration_loss_weight=0.2, pitch_loss_weight=0.4, energy_loss_weight=0.3)
    if size == "plain-test":
        training.update(mel_loss="huber", huber_delta=0.6)
    for key, value in (pair.split("=", 1) for pair in settings):
        section = config if key in config else training
        old = section[key]
        section[key] = value == "true" if isinstance(old, bool) else type(old)(value)
    symbols, optimiser = 11, dict(lr=0.002, beta1=0.9, beta2=0.98, eps=1e-8, weight_decay=0.1, clip=1.0)
    for seed in itertools.count(first_seed):
        draw = torch.Generator().manual_seed(seed)
        network = random_weights(Network(config, training, symbols, languages=languages), draw)
        batch = random_batch(config, symbols, draw)
        if languages:
            batch["language"] = torch.tensor([1, 2, 0, 2, 1, 0])
        start = {k: v.clone() for k, v in network.state_dict().items()}
        losses, clear = train(network, batch, optimiser)
        if clear > MARGIN:
            break
    network.load_state_dict(start)
    network.zero_grad()

    terms, outputs = network.loss(batch)
    terms.sum().backward()
    tensors = {"loss.terms": terms, "loss.total": terms.sum()[None], "losses": torch.tensor(losses)}
    for prefix, some in (("out.", outputs), ("batch.", batch)):
        tensors.update({prefix + k: v if v.is_floating_point() else v.int() for k, v in some.items()})
    for name, p in network.named_parameters():
        tensors["param." + name], tensors["grad." + name] = p.clone(), p.grad.clone()
    norm = math.sqrt(sum(p.grad.square().sum().item() for p in network.parameters()))
    tensors = {k: (v.detach().float() if v.is_floating_point() else v).contiguous() for k, v in tensors.items()}
    lines = dict(training, mixed_precision=False, learning_rate=optimiser["lr"], beta1=optimiser["beta1"], beta2=optimiser["beta2"],
                 adam_eps=optimiser["eps"], weight_decay=optimiser["weight_decay"], gradient_clip_norm=optimiser["clip"], warmup_steps=0,
                 scheduler="constant")
    metadata = {k: str(v) for k, v in optimiser.items()}
    metadata.update(config=yaml_text({"model": config, "training": lines}), symbols=str(symbols), seed=str(seed))
    if languages:
        metadata.update(languages=str(languages))
    assert all(torch.isfinite(v).all() for v in tensors.values() if v.is_floating_point())
    assert torch.equal(outputs["durations"].sum(1), batch["mel_length"])
    assert all(p.grad.abs().max() > 0 for p in network.parameters())
    print(f"{os.path.basename(output)}: seed {seed}, loss {terms.sum().item():.6f} = {[round(t, 6) for t in terms.tolist()]}, gradient {norm:.4f}, "
          f"after {STEPS} steps {losses[-1]:.6f}, alignments clear by {clear:.1e}")
    if not check:
        save_file(tensors, output, metadata)
        return True
    gaps = {"finite differences": check_gradients(network, batch, draw), "search": check_search(seed),
            "padding": check_padding(network, batch, draw)}
    with safe_open(output, "pt") as f:
        assert set(f.keys()) == set(tensors) and f.metadata() == metadata, "other tensors or settings"
        gaps["file"] = max(((f.get_tensor(k) - v).abs() / (1 + v.abs())).max().item() for k, v in tensors.items())
    bad = [k for k, limit in (("finite differences", 1e-6), ("search", 1e-12), ("padding", 1e-12), ("file", 1e-6)) if not gaps[k] < limit]
    print("largest differences:", ", ".join(f"{k} {v:.1e}" for k, v in gaps.items()), "FAILED: " + ", ".join(bad) if bad else "ok")
    return not bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", help="one file; without it the three golden files")
    parser.add_argument("--size", choices=SIZES, default="test")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="another setting of section model or training")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if args.output:
        return 0 if make(args.output, args.size, args.seed, args.set, args.check) else 1
    folder = os.path.dirname(os.path.abspath(__file__))
    good = [make(os.path.join(folder, name), size, args.seed, args.set, args.check) for name, size in FILES.items()]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
