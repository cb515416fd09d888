#!/usr/bin/env python3
"""The network of docs/MODEL.md in PyTorch, written from that page, and the golden file made with it (needs torch, safetensors).

usage: model.py --output FILE [--size small-test|nano|tiny] [--seed N] [--set KEY=VALUE]... [--check]

Random weights (every bias, norm and position scale too) and a random padded batch go in; losses, outputs, gradients and ten
steps of AdamW come out, computed in float64 and written as float32. Outputs are 0 where the loss does not look.
--check writes nothing: gradients against finite differences, more padding gives the same, and FILE holds the same numbers.
"""
import argparse
import math
import sys

import torch
import torch.nn.functional as F
from torch import nn

STEPS = 10
NANO = dict(text_encoder_dim=128, text_encoder_layers=2, text_encoder_heads=2, audio_encoder_dim=128, audio_encoder_layers=2,
            audio_encoder_heads=2, decoder_dim=192, decoder_layers=3, decoder_heads=3, speaker_embedding_dim=64, reduction_factor=2,
            use_voice_conditioning=True, use_gst=True, gst_num_style_tokens=10, gst_num_heads=4, prenet_dim=256, postnet_layers=5,
            postnet_dim=256, dropout=0.1, prenet_dropout=0.5, n_mels=80)
TINY = dict(NANO, text_encoder_dim=256, text_encoder_layers=4, text_encoder_heads=4, audio_encoder_dim=256, audio_encoder_layers=4,
            audio_encoder_heads=4, decoder_dim=768, decoder_layers=8, decoder_heads=12, speaker_embedding_dim=256, reduction_factor=1,
            postnet_dim=512)
SMALL_TEST = dict(NANO, text_encoder_dim=16, audio_encoder_dim=16, audio_encoder_layers=1, decoder_dim=24, decoder_layers=2,
                  speaker_embedding_dim=8, gst_num_style_tokens=3, gst_num_heads=2, prenet_dim=8, postnet_layers=3, postnet_dim=8, n_mels=8)
SIZES = {"small-test": SMALL_TEST, "nano": NANO, "tiny": TINY}
TRAINING = dict(mel_loss="l1", huber_delta=1.0, mel_loss_weight=1.0, stop_loss_weight=1.0, attention_loss_weight=1.0, pitch_loss_weight=0.1,
                energy_loss_weight=0.1, stop_token_positive_weight=5.0, guided_attention_width=0.25)


class Plain:
    """The operations that a faster network may replace. q, k, v: [B, length, C]; keys: bool [B, keys], None shows all."""

    @staticmethod
    def weights(q, k, heads, keys, causal=False):
        q, k = (x.unflatten(2, (heads, -1)).transpose(1, 2) for x in (q, k))
        score = q @ k.transpose(2, 3) / math.sqrt(q.shape[3])  # [B, heads, queries, keys]
        seen = torch.ones_like(score, dtype=torch.bool)
        if keys is not None:
            seen = seen & keys[:, None, None, :]
        if causal:
            seen = seen.tril()
        return score.masked_fill(~seen, torch.finfo(score.dtype).min).softmax(3) * seen  # no keys: zeros

    @classmethod
    def attention(cls, q, k, v, heads, keys=None, causal=False):
        out = cls.weights(q, k, heads, keys, causal) @ v.unflatten(2, (heads, -1)).transpose(1, 2)
        return out.transpose(1, 2).flatten(2)

    @classmethod
    def guided_attention(cls, q, k, v, heads, keys, penalty):
        """also the sum of weights * penalty, penalty [B, queries, keys]"""
        p = cls.weights(q, k, heads, keys)
        out = p @ v.unflatten(2, (heads, -1)).transpose(1, 2)
        return out.transpose(1, 2).flatten(2), (p * penalty[:, None]).sum()

    @staticmethod
    def convolution(x, weight, bias):
        """x [B, time, in], weight [out, kernel, in]; zeros outside"""
        return F.conv1d(x.transpose(1, 2), weight.permute(0, 2, 1), bias, padding=weight.shape[1] // 2).transpose(1, 2)


class Conv(nn.Module):
    def __init__(self, ops, inputs, outputs, kernel=5):
        super().__init__()
        self.ops = ops
        self.weight = nn.Parameter(torch.randn(outputs, kernel, inputs) / math.sqrt(kernel * inputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x, real):
        return self.ops.convolution(x * real[:, :, None], self.weight, self.bias)


class Layer(nn.Module):
    def __init__(self, ops, width, heads, dropout, memory=0):
        super().__init__()
        self.ops, self.heads, self.dropout = ops, heads, dropout
        self.norm_self, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        if memory:
            self.norm_cross, self.cross_q = nn.LayerNorm(width), nn.Linear(width, width)
            self.kv, self.cross_out = nn.Linear(memory, 2 * width), nn.Linear(width, width)
        self.norm_feed, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def drop(self, x):
        return F.dropout(x, self.dropout, self.training)

    def forward(self, x, keys, memory=None, symbols=None, penalty=None):
        """x and the sum of the guided attention; with memory it is a decoder's layer"""
        guided = 0
        q, k, v = self.qkv(self.norm_self(x)).chunk(3, 2)
        x = x + self.drop(self.out(self.ops.attention(q, k, v, self.heads, keys, causal=memory is not None)))
        if memory is not None:
            k, v = self.kv(memory).chunk(2, 2)
            y, guided = self.ops.guided_attention(self.cross_q(self.norm_cross(x)), k, v, self.heads, symbols, penalty)
            x = x + self.drop(self.cross_out(y))
        return x + self.drop(self.down(F.relu(self.up(self.norm_feed(x))))), guided


class Stack(nn.Module):
    """Base of the three stacks of layers: position scale, layers, last norm."""

    def __init__(self, ops, width, heads, layers, dropout, memory=0):
        super().__init__()
        self.dropout = dropout
        self.position = nn.Parameter(torch.ones(1))
        self.layers = nn.ModuleList(Layer(ops, width, heads, dropout, memory) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def stack(self, x, keys, *cross):
        time, width = x.shape[1:]
        kind = x.dtype if x.dtype == torch.float64 else torch.float32
        t, i = torch.arange(time, device=x.device, dtype=kind), torch.arange(0, width, 2, device=x.device, dtype=kind)
        angle = t[:, None] / 10000 ** (i / width)
        table = torch.stack((angle.sin(), angle.cos()), 2).flatten(1)[:, :width].to(x.dtype)
        x, guided = F.dropout(x + self.position * table, self.dropout, self.training), 0
        for layer in self.layers:
            x, g = layer(x, keys, *cross)
            guided = guided + g
        return self.norm(x), guided


class Text(Stack):
    def __init__(self, ops, c, symbols):
        super().__init__(ops, c["text_encoder_dim"], c["text_encoder_heads"], c["text_encoder_layers"], c["dropout"])
        self.symbols = nn.Parameter(0.1 * torch.randn(symbols, c["text_encoder_dim"]))

    def forward(self, tokens, real):
        return self.stack(F.embedding(tokens, self.symbols), real)[0]


class Voice(Stack):
    def __init__(self, ops, c):
        width, size = c["audio_encoder_dim"], c["speaker_embedding_dim"]
        super().__init__(ops, width, c["audio_encoder_heads"], c["audio_encoder_layers"], c["dropout"])
        self.ops, self.heads, self.gst = ops, c["gst_num_heads"], c["use_gst"]
        self.conv1, self.conv2 = Conv(ops, 4 * c["n_mels"], width), Conv(ops, width, width)
        self.speaker = nn.Linear(width, size)
        if self.gst:
            self.style_tokens = nn.Parameter(0.5 * torch.randn(c["gst_num_style_tokens"], size))
            self.style_query = nn.Linear(width, size)
            self.style_key, self.style_value, self.style_out = (nn.Linear(size, size, bias=b) for b in (False, True, True))
        self.to_text, self.to_decoder = nn.Linear(size, c["text_encoder_dim"]), nn.Linear(size, c["decoder_dim"])

    def forward(self, mel, real):
        """the voice vector of every row, [B, S]"""
        x = F.relu(self.conv2(F.relu(self.conv1(late(mel, 4), real)), real))
        x, _ = self.stack(x, real)
        pooled = (x * real[:, :, None]).sum(1) / real.sum(1).clamp(min=1)[:, None]
        voice = self.speaker(pooled)
        if self.gst:
            tokens = self.style_tokens.expand(len(mel), -1, -1)
            query = self.style_query(pooled)[:, None]
            voice = voice + self.style_out(Plain.attention(query, self.style_key(tokens), self.style_value(tokens), self.heads))[:, 0]
        return voice


class Decoder(Stack):
    def __init__(self, ops, c, training):
        width, r, hidden = c["decoder_dim"], c["reduction_factor"], c["prenet_dim"]
        super().__init__(ops, width, c["decoder_heads"], c["decoder_layers"], c["dropout"], c["text_encoder_dim"])
        self.r, self.bands, self.prenet_dropout = r, c["n_mels"], c["prenet_dropout"]
        self.pre1, self.pre2, self.pre_out = nn.Linear(r * self.bands, hidden), nn.Linear(hidden, hidden // 2), nn.Linear(hidden // 2, width)
        self.mel, self.stop = nn.Linear(width, r * self.bands), nn.Linear(width, 1)
        if training["pitch_loss_weight"]:
            self.pitch = nn.Linear(width, r)
        if training["energy_loss_weight"]:
            self.energy = nn.Linear(width, r)

    def forward(self, mel, steps, memory, symbols, voice, penalty):
        x = late(mel, self.r)
        for pre in (self.pre1, self.pre2):
            x = F.dropout(F.relu(pre(x)), self.prenet_dropout, self.training)
        x = self.pre_out(x) + voice
        x, guided = self.stack(x, steps, memory, symbols, penalty)
        heads = {name: getattr(self, name)(x).flatten(1) for name in ("stop", "pitch", "energy") if hasattr(self, name)}
        return self.mel(x).unflatten(2, (self.r, self.bands)).flatten(1, 2), guided, heads


def late(mel, group):
    """groups of frames, one group later: [B, M, n] -> [B, M / group rounded up, group * n]"""
    mel = F.pad(mel, (0, 0, group, -mel.shape[1] % group))[:, :-group]
    return mel.unflatten(1, (-1, group)).flatten(2)


def within(length, size):
    """bool [B, size]: what is real"""
    return torch.arange(size, device=length.device) < length[:, None]


class Network(nn.Module):
    def __init__(self, config, training, symbols, ops=Plain):
        super().__init__()
        c = self.config = config
        self.loss_config = training
        self.text = Text(ops, c, symbols)
        if c["use_voice_conditioning"]:
            self.voice = Voice(ops, c)
        self.decoder = Decoder(ops, c, training)
        widths = [c["n_mels"]] + [c["postnet_dim"]] * (c["postnet_layers"] - 1) + [c["n_mels"]]
        self.postnet = nn.ModuleList(Conv(ops, widths[i], widths[i + 1]) for i in range(c["postnet_layers"]))

    def penalty(self, batch, kind):
        """of guided attention, [B, G, T]; 0 for steps that are not real"""
        text, steps, time = batch["text_length"], self.group_length(batch), batch["tokens"].shape[1]
        groups = batch["mel"].shape[1] // self.config["reduction_factor"]
        i = torch.arange(groups, device=steps.device).to(kind) / steps.clamp(min=1)[:, None].to(kind)
        j = torch.arange(time, device=text.device).to(kind) / text.clamp(min=1)[:, None].to(kind)
        far = (j[:, None, :] - i[:, :, None]) ** 2 / (2 * self.loss_config["guided_attention_width"] ** 2)
        return (1 - torch.exp(-far)) * within(steps, groups)[:, :, None]

    def group_length(self, batch):
        r = self.config["reduction_factor"]
        return (batch["mel_length"] + r - 1) // r

    def forward(self, batch):
        mel = batch["mel"].to(self.decoder.mel.weight.dtype)
        frames = within(batch["mel_length"], mel.shape[1])
        symbols = within(batch["text_length"], batch["tokens"].shape[1])
        memory, to_decoder = self.text(batch["tokens"], symbols), 0
        if self.config["use_voice_conditioning"]:
            groups = within((batch["mel_length"] + 3) // 4, (mel.shape[1] + 3) // 4)
            voice = self.voice(mel, groups)[batch["reference"]]
            memory = memory + self.voice.to_text(voice)[:, None]
            to_decoder = self.voice.to_decoder(voice)[:, None]
        steps = within(self.group_length(batch), mel.shape[1] // self.config["reduction_factor"])
        before, guided, heads = self.decoder(mel, steps, memory, symbols, to_decoder, self.penalty(batch, batch["mel"].dtype))
        x = before
        for i, conv in enumerate(self.postnet):
            x = conv(x, frames)
            x = torch.tanh(x) if i + 1 < len(self.postnet) else x
        after = before + x if len(self.postnet) else None
        return before, after, guided, heads

    def loss(self, batch):
        """mel, stop, attention, pitch, energy, each divided by the real frames; and the outputs where they count"""
        w, c, mel = self.loss_config, self.config, batch["mel"]
        r, kind = c["reduction_factor"], mel.dtype
        before, after, guided, heads = self(batch)
        frames, length = within(batch["mel_length"], mel.shape[1]), self.group_length(batch)

        def distance(x):
            x = x.to(kind)
            d = (x - mel).abs() if w["mel_loss"] == "l1" else F.huber_loss(x, mel, reduction="none", delta=w["huber_delta"])
            return (d * frames[:, :, None]).sum()

        def frame_loss(name, target):
            return w[name + "_loss_weight"] * ((heads[name].to(kind) - target).abs() * frames).sum() if name in heads else mel.new_zeros(())

        step = torch.arange(heads["stop"].shape[1], device=mel.device)
        counts = step < length[:, None]
        target = (step >= length[:, None] - 1).to(kind)
        weight = torch.where(target > 0, w["stop_token_positive_weight"], 1.0) * counts
        stop = F.binary_cross_entropy_with_logits(heads["stop"].to(kind), target, weight, reduction="sum")
        terms = torch.stack((
            w["mel_loss_weight"] / c["n_mels"] * (distance(before) + (distance(after) if after is not None else 0)),
            w["stop_loss_weight"] * r * stop,
            w["attention_loss_weight"] * r / (c["decoder_heads"] * c["decoder_layers"]) * guided.to(kind),
            frame_loss("pitch", batch["pitch"]),
            frame_loss("energy", mel.mean(2)))) / frames.sum()
        outputs = {"before": before * frames[:, :, None], "stop": heads["stop"] * counts}
        if after is not None:
            outputs["after"] = after * frames[:, :, None]
        return terms, outputs


def decays(name):
    """matrices, kernels, symbols and style tokens; not biases, norms and position scales"""
    return not (name.endswith((".bias", ".position")) or ".norm" in name)


def random_weights(network, draw):
    for name, p in network.named_parameters():
        noise = torch.randn(p.shape, generator=draw)
        if name.endswith(".weight") and ".norm" in name or name.endswith(".position"):
            p.data = 1 + 0.2 * noise
        elif name.endswith(".weight"):
            p.data = noise / math.sqrt(p[0].numel())
        else:
            p.data = (0.5 if p.dim() > 1 else 0.2) * noise
    network.decoder.stop.bias.data -= 1
    return network.double()


def random_batch(config, symbols, draw, time=9, frames=14):
    """a full row, odd ones, one of a single frame, an empty one; references exchange rows, repeat and name the row itself"""
    frames += -frames % config["reduction_factor"]
    text, mel = torch.tensor([time, 5, 1, 0, time - 1, 3]), torch.tensor([frames, 7, 1, 0, 10, 5])
    real = within(mel, frames)
    return {"tokens": torch.randint(symbols, (6, time), generator=draw) * within(text, time), "text_length": text, "mel_length": mel,
            "reference": torch.tensor([1, 0, 2, 4, 1, 0]),
            "mel": (torch.randn(6, frames, config["n_mels"], generator=draw) * real[:, :, None]).double(),
            "pitch": (torch.randn(6, frames, generator=draw) * real).double()}


def train(network, batch, o):
    """the losses seen by STEPS steps of AdamW"""
    named = list(network.named_parameters())
    groups = [{"params": [p for n, p in named if decays(n) == d], "weight_decay": o["weight_decay"] if d else 0.0} for d in (True, False)]
    adam, losses = torch.optim.AdamW(groups, lr=o["lr"], betas=(o["beta1"], o["beta2"]), eps=o["eps"]), []
    for _ in range(STEPS):
        adam.zero_grad()
        total = network.loss(batch)[0].sum()
        total.backward()
        nn.utils.clip_grad_norm_(network.parameters(), o["clip"])
        adam.step()
        losses.append(total.item())
    return losses


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


def check_padding(network, batch):
    """Longer padding, filled with rubbish among the tokens."""
    more = 4 * network.config["reduction_factor"]
    wide = dict(batch, tokens=F.pad(batch["tokens"], (0, 5), value=1), mel=F.pad(batch["mel"], (0, 0, 0, more)), pitch=F.pad(batch["pitch"], (0, more)))
    return (network.loss(wide)[0] - network.loss(batch)[0]).abs().max().item()


def main():
    from safetensors import safe_open
    from safetensors.torch import save_file
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True)
    parser.add_argument("--size", choices=SIZES, default="small-test")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="another setting of section model or training")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()

    config = dict(SIZES[args.size], dropout=0, prenet_dropout=0)
    training = dict(TRAINING, mel_loss_weight=1.5, stop_loss_weight=0.7, attention_loss_weight=2.0, pitch_loss_weight=0.4,
                    energy_loss_weight=0.3, guided_attention_width=0.3)
    for key, value in (pair.split("=", 1) for pair in args.set):
        section = config if key in config else training
        old = section[key]
        section[key] = value == "true" if isinstance(old, bool) else type(old)(value)
    symbols, draw = 11, torch.Generator().manual_seed(args.seed)
    network = random_weights(Network(config, training, symbols), draw)
    batch = random_batch(config, symbols, draw)
    optimiser = dict(lr=0.002, beta1=0.9, beta2=0.98, eps=1e-8, weight_decay=0.1, clip=1.0)

    terms, outputs = network.loss(batch)
    terms.sum().backward()
    tensors = {"loss.terms": terms, "loss.total": terms.sum()[None]}
    tensors.update({"out." + k: v for k, v in outputs.items()})
    tensors.update({"batch." + k: v if v.is_floating_point() else v.int() for k, v in batch.items()})
    for name, p in network.named_parameters():
        tensors["param." + name], tensors["grad." + name] = p.clone(), p.grad.clone()
    norm = math.sqrt(sum(p.grad.square().sum().item() for p in network.parameters()))
    gaps = {"finite differences": check_gradients(network, batch, draw), "padding": check_padding(network, batch)} if args.check else {}
    losses = train(network, batch, optimiser)
    tensors["losses"] = torch.tensor(losses)
    tensors = {k: (v.detach().float() if v.is_floating_point() else v).contiguous() for k, v in tensors.items()}
    lines = dict(training, mixed_precision=False, learning_rate=optimiser["lr"], beta1=optimiser["beta1"], beta2=optimiser["beta2"],
                 adam_eps=optimiser["eps"], weight_decay=optimiser["weight_decay"], gradient_clip_norm=optimiser["clip"], warmup_steps=0,
                 scheduler="constant")
    metadata = {k: str(v) for k, v in optimiser.items()}
    metadata.update(config=yaml_text({"model": config, "training": lines}), symbols=str(symbols))
    assert all(torch.isfinite(v).all() for v in tensors.values() if v.is_floating_point())
    print(f"loss {terms.sum().item():.6f} = {[round(t, 6) for t in terms.tolist()]}, gradient {norm:.4f}, after {STEPS} steps {losses[-1]:.6f}")
    if not args.check:
        save_file(tensors, args.output, metadata)
        return 0
    with safe_open(args.output, "pt") as f:
        assert set(f.keys()) == set(tensors) and f.metadata() == metadata, "other tensors or settings"
        gaps["file"] = max(((f.get_tensor(k) - v).abs() / (1 + v.abs())).max().item() for k, v in tensors.items())
    bad = [k for k, limit in (("finite differences", 1e-6), ("padding", 1e-12), ("file", 1e-6)) if not gaps[k] < limit]
    print("largest differences:", ", ".join(f"{k} {v:.1e}" for k, v in gaps.items()), "FAILED: " + ", ".join(bad) if bad else "ok")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
