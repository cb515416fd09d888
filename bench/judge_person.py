#!/usr/bin/env python3
"""How near a voice comes to the person it learned from: spoken sentences beside that person's recordings of the same texts.

usage: bench/judge_person.py --held FOLDER [--most N] [--language en] [--nisqa CHECKOUT] [--dnsmos FILE] [--resemblyzer FILE]
                             [--json-file FILE] [--blind FOLDER [--blind-of NAME,...]] NAME=FOLDER...
  --held         a corpus: metadata.csv (ID|TEXT) and wavs/ID.wav or .flac, the recordings
  NAME=FOLDER    what is judged: ID.wav or .flac for each of them, or NN.wav in the order of metadata.csv, as `synth --lines` writes them
  --most         sentences that are judged, the first ones (all)
  --language     of the texts; there is a recogniser for en alone
  --nisqa        a checkout of gabrielmittag/NISQA; without it there is no NISQA-TTS
  --blind        gets a folder for each sentence with all of them (or --blind-of), equally loud, as a.wav, b.wav, ...; FOLDER-key.tsv says what is what
  --dnsmos       sig_bak_ovr.onnx, --resemblyzer: pretrained.pt; out of the packages speechmos and resemblyzer where they are installed
Needs numpy alone; NISQA-TTS and Resemblyzer also torch, DNSMOS onnxruntime, words build/bench/judge, FLAC sox. What is missing is
said, and the others judge. Nothing is fetched.

  NISQA-TTS   naturalness; DNSMOS: overall (P.835), at 16 kHz. Both are given every clip at -26 dBFS, as a louder one gets less
  words       heard wrong by PocketSphinx, percent
  pitch       standard deviation of F0 within a sentence in semitones, averaged, of what is within 8 of the median: beyond it octaves are mistaken
  length      without what is 30 dB below the loudest at both ends, all sentences together, in parts of the recordings'. (Kathleen's room
              is at 30 to 35: with 35 her 60 recordings are 2.5 % longer, with 25 only 0.9 % shorter.) Length at 35 dB is shown
              beside it, as it was judged until 2026-11-19
  movement    variance of the log mel's change from frame to frame, detail: from band to band, at -26 dBFS; shares of the recordings'
  similarity  cosine of Resemblyzer's embeddings with the recordings of other sentences, as a share of the recordings' own
Differences and shares have a 95 % interval (bootstrap over the sentences). Prints a table, then one JSON line. Exit 2: wrong use, 3: something
is missing.
"""
import argparse
import functools
import importlib.util
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import types
import wave
from concurrent.futures import ProcessPoolExecutor

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # a process for each core, each with one thread
try:
    import numpy as np
except ImportError:
    print("judge_person: there is no numpy; MYXTTS_JUDGES_PYTHON names a Python that has it", file=sys.stderr)
    sys.exit(3)
from speakers import pitch_track

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LISTENER = os.path.join(ROOT, os.environ.get("MYXTTS_OUT", "build"), "bench", "judge")
RATE = 16000  # of DNSMOS and Resemblyzer
RECORDINGS = "recordings"
DRAWS = 2000


def say(text):
    print(f"judge_person: {text}", file=sys.stderr, flush=True)


def fail(text, code=3):
    say(text)
    sys.exit(code)


# ---- sound ----

def read_sound(path):
    """-> samples in [-1, 1), rate"""
    try:
        with wave.open(path) as f:
            if f.getsampwidth() == 2:
                x = np.frombuffer(f.readframes(f.getnframes()), "<i2").reshape(-1, f.getnchannels())
                return x.mean(1, dtype=np.float32) / np.float32(32768), f.getframerate()
    except (wave.Error, EOFError):
        pass
    try:
        rate = int(subprocess.check_output(["soxi", "-r", path]))
        raw = subprocess.check_output(["sox", path, "-t", "raw", "-e", "float", "-b", "32", "-c", "1", "-"])
    except (OSError, subprocess.CalledProcessError):
        fail(f"{path} is no WAV of 16 bits, and sox cannot read it or is not there")
    return np.frombuffer(raw, "<f4"), rate


def resample(x, rate, to):
    """By its spectrum, which fades out over the last 5 %; half a second of silence on both sides keeps the ends apart."""
    if rate == to:
        return x
    g = np.gcd(rate, to)
    up, down = to // g, rate // g
    side = (rate // 2 + down - 1) // down * down
    n = (len(x) + 2 * side + down - 1) // down * down
    spectrum = np.fft.rfft(np.pad(x, (side, n - side - len(x))))
    kept = spectrum[:n // down * up // 2 + 1]
    kept = kept * np.clip(20 * (1 - np.arange(len(kept)) / len(kept)), 0, 1) if up < down else kept
    y = np.fft.irfft(kept, n // down * up) * (up / down)
    return y[side // down * up:][:len(x) * up // down].astype(np.float32)


@functools.lru_cache(8)
def mel_filters(rate, n_fft, bands, low, high):
    """[bands, n_fft/2 + 1]: librosa's, Slaney's scale, equal areas"""
    step = 200 / 3
    to_mel = lambda hz: hz / step if hz < 1000 else 15 + 27 * np.log(hz / 1000) / np.log(6.4)
    m = np.linspace(to_mel(low), to_mel(high), bands + 2)
    hz = np.where(m < 15, m * step, 1000 * np.exp(np.log(6.4) / 27 * (m - 15)))
    bins = np.arange(n_fft // 2 + 1) * rate / n_fft
    rise = (bins - hz[:-2, None]) / (hz[1:-1] - hz[:-2])[:, None]
    fall = (hz[2:, None] - bins) / (hz[2:] - hz[1:-1])[:, None]
    return np.maximum(0, np.minimum(rise, fall)) * (2 / (hz[2:] - hz[:-2]))[:, None]


def mel(x, rate, n_fft, window, hop, bands, high, power, pad):
    """[bands, frames] as librosa's melspectrogram has it (Hann, centred)"""
    x = np.pad(x.astype(np.float64), n_fft // 2, mode=pad)
    hann = np.zeros(n_fft)
    at = (n_fft - window) // 2
    hann[at:at + window] = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)
    frames = np.lib.stride_tricks.sliding_window_view(x, n_fft)[::hop]
    return mel_filters(rate, n_fft, bands, 0, high) @ (np.abs(np.fft.rfft(frames * hann)) ** power).T


def trimmed(x, rate, below=35):
    """without what is so many dB quieter than the loudest 20 ms at both ends"""
    size = rate // 50
    energy = (x[:len(x) // size * size].reshape(-1, size).astype(np.float64) ** 2).mean(1)
    loud = np.flatnonzero(energy > energy.max(initial=0) * 10 ** (-below / 10))
    return x[loud[0] * size:(loud[-1] + 1) * size] if len(loud) else x


def levelled(x, rate):
    """at -26 dBFS, without the silence at its ends counted"""
    return x * np.float32(10 ** -1.3 / max(float(np.sqrt((trimmed(x, rate).astype(np.float64) ** 2).mean())), 1e-9))


# ---- judges: each is given a file and returns its figures ----

class Shape:
    """what needs no network: pitch, length, movement and detail"""
    title = "pitch, length, movement, detail"

    def __init__(self, o):
        pass

    def __call__(self, path):
        x, rate = read_sound(path)
        x = trimmed(levelled(x, rate), rate)
        pitch = 12 / np.log(2) * pitch_track(x, rate)
        pitch = pitch[np.abs(pitch - np.median(pitch)) < 8] if len(pitch) else pitch
        m = np.log(np.maximum(mel(x, rate, 1024, 1024, 256, 80, 8000, 1, "constant"), 1e-5))
        return {"pitch": float(pitch.std()) if len(pitch) else 0.0, "seconds": len(trimmed(x, rate, 30)) / rate, "seconds_35": len(x) / rate,
                "movement": float(np.diff(m, axis=1).var()), "detail": float(np.diff(m, axis=0).var())}


class Nisqa:
    title = "NISQA-TTS"

    def __init__(self, o):
        if not o.nisqa:
            raise LookupError("no --nisqa CHECKOUT")
        import torch
        path = os.path.join(o.nisqa, "weights", "nisqa_tts.tar")
        if not os.path.exists(path):
            raise LookupError(f"there is no {path}")
        self.torch, saved = torch, torch.load(path, map_location="cpu", weights_only=False)
        self.args = saved["args"]
        wanted = self.library(o.nisqa).NISQA
        names = wanted.__init__.__code__.co_varnames[1:wanted.__init__.__code__.co_argcount]
        self.network = wanted(**{n: self.args[n] for n in names})
        self.network.load_state_dict(saved["model_state_dict"])
        self.network.eval()

    @staticmethod
    def library(folder):
        """NISQA_lib; what it imports for training and pictures is stood in for: it need not be installed"""
        class Anything(types.ModuleType):
            __path__ = []

            def __getattr__(self, name):
                return Anything(name)
        names = ("librosa", "pandas", "matplotlib", "matplotlib.pyplot", "tqdm", "scipy", "scipy.stats", "scipy.optimize")
        before = {name: sys.modules.get(name) for name in names}
        sys.modules.update({name: Anything(name) for name in names})
        spec = importlib.util.spec_from_file_location("nisqa_lib", os.path.join(folder, "nisqa", "NISQA_lib.py"))
        library = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(library)
        for name, module in before.items():
            sys.modules.pop(name) if module is None else sys.modules.update({name: module})
        return library

    def __call__(self, path):
        x, rate = read_sound(path)
        x = levelled(x, rate)
        a, t = self.args, self.torch
        s = mel(x, rate, a["ms_n_fft"], int(rate * a["ms_win_length"]), int(rate * a["ms_hop_length"]), a["ms_n_mels"], a["ms_fmax"], 1, "reflect")
        s = 20 * np.log10(np.maximum(s, 1e-4))
        s = t.tensor(np.maximum(s, s.max() - 80), dtype=t.float32)
        windows = s.unfold(1, a["ms_seg_length"], a["ms_seg_hop_length"]).transpose(0, 1)[None, :, None]
        with t.no_grad():
            return {"nisqa": float(self.network(windows, t.tensor([windows.shape[1]])))}


def weights_of(given, package, *path):
    """the file that an option names, or one of an installed package, which is not imported for it"""
    spec = None if given else importlib.util.find_spec(package)
    found = given or (os.path.join(os.path.dirname(spec.origin), *path) if spec else "")
    if not os.path.exists(found):
        raise LookupError(f"there is no {found}" if found else f"neither the package {package} nor a file is given")
    return found


class Dnsmos:
    title = "DNSMOS"

    def __init__(self, o):
        path = weights_of(o.dnsmos, "speechmos", "dnsmos_models", "sig_bak_ovr.onnx")
        import onnxruntime
        onnxruntime.set_default_logger_severity(3)
        alone = onnxruntime.SessionOptions()
        alone.intra_op_num_threads = alone.inter_op_num_threads = 1
        self.network = onnxruntime.InferenceSession(path, alone, providers=["CPUExecutionProvider"])

    def __call__(self, path):
        x = np.clip(levelled(resample(*read_sound(path), RATE), RATE), -1, 1)
        size = int(9.01 * RATE)
        while len(x) < size:
            x = np.append(x, x)
        parts = [x[i * RATE:i * RATE + size] for i in range(int(len(x) // RATE - 9.01) + 1)]
        raw = [float(self.network.run(None, {"input_1": p[None].astype(np.float32)})[0][0][2]) for p in parts if len(p) == size]
        return {"dnsmos": float(np.mean(np.polyval([-0.06766283, 1.11546468, 0.04602535], raw)))}


class Resemblyzer:
    title = "Resemblyzer"

    def __init__(self, o=None):
        path = weights_of(o and o.resemblyzer, "resemblyzer", "pretrained.pt")
        import torch
        self.torch, weights = torch, torch.load(path, map_location="cpu", weights_only=False)["model_state"]
        self.lstm, self.linear = torch.nn.LSTM(40, 256, 3, batch_first=True), torch.nn.Linear(256, 256)
        for part, name in ((self.lstm, "lstm."), (self.linear, "linear.")):
            part.load_state_dict({k[len(name):]: v for k, v in weights.items() if k.startswith(name)})

    def __call__(self, path):
        """The network, the parts of 1.6 s and the level of -30 dBFS are Resemblyzer's; but it makes quiet clips louder and leaves loud ones as they are.
        Pauses are found by their energy, for which it asks another package."""
        x = resample(*read_sound(path), RATE)
        x = x * (10 ** -1.5 / max(float(np.sqrt((x ** 2).mean())), 1e-9))
        size = RATE * 30 // 1000
        x = x[:len(x) // size * size].reshape(-1, size)
        level = (x.astype(np.float64) ** 2).mean(1)
        voiced = np.convolve(level > level.max(initial=0) * 10 ** -3.5, np.ones(14), "same") > 0.5
        x = x[voiced].ravel()
        step = round(RATE / 1.3 / 160)
        starts = list(range(0, max(1, (len(x) + 160) // 160 - 160 + step + 1), step))
        if len(starts) > 1 and (len(x) / 160 - starts[-1]) / 160 < 0.75:
            starts.pop()
        x = np.pad(x, (0, max(0, (starts[-1] + 160) * 160 - len(x))))
        m = mel(x, RATE, 400, 400, 160, 40, RATE / 2, 2, "constant").T
        t = self.torch
        with t.no_grad():
            _, (hidden, _) = self.lstm(t.tensor(np.stack([m[s:s + 160] for s in starts]), dtype=t.float32))
            e = t.relu(self.linear(hidden[-1]))
            e = (e / e.norm(dim=1, keepdim=True)).mean(0)
            return {"embedding": (e / e.norm()).numpy()}


def hear(o, files, texts):
    """{path: {"wrong": , "words": }}"""
    if o.language != "en":
        raise LookupError(f"there is no recogniser for '{o.language}'")
    if not os.access(LISTENER, os.X_OK):
        raise LookupError(f"there is no {LISTENER} (make build/bench/judge)")
    with tempfile.TemporaryDirectory() as folder:
        for i, path in enumerate(files):
            os.symlink(os.path.abspath(path), os.path.join(folder, f"{i + 1:02d}.wav"))
        lines = os.path.join(folder, "lines")
        with open(lines, "w", encoding="utf-8") as f:
            f.writelines(t + "\n" for t in texts)
        p = subprocess.run([LISTENER, "--threads", str(os.cpu_count()), "--list", folder, lines], capture_output=True, text=True, check=False)
    if p.returncode:
        raise LookupError(p.stderr.strip())
    found = [line.split(" ", 2)[1].split("/") for line in p.stdout.splitlines()[3:]]
    return {path: {"wrong": int(w), "words": int(n)} for path, (w, n) in zip(files, found)}


# ---- figures of a folder ----

def sound_of(folder, name):
    return next((p for e in (".wav", ".flac") if os.path.exists(p := os.path.join(folder, name + e))), None)


def gather(o):
    """-> ids, texts, {name: [path]}"""
    with open(os.path.join(o.held, "metadata.csv"), encoding="utf-8") as f:
        rows = [line.rstrip("\r\n").split("|") for line in f if "|" in line]
    rows = rows[:o.most or len(rows)]
    sets = {RECORDINGS: [sound_of(os.path.join(o.held, "wavs"), r[0]) for r in rows]}
    for text in o.folders:
        name, _, folder = text.rpartition("=")
        name = name or os.path.basename(os.path.normpath(folder))
        if name in sets:
            fail(f"two folders are named '{name}'; give NAME=FOLDER", 2)
        sets[name] = [sound_of(folder, r[0]) or sound_of(folder, f"{i + 1:02d}") for i, r in enumerate(rows)]
    for name, paths in sets.items():
        lost = [rows[i][0] for i, p in enumerate(paths) if not p]
        if lost:
            fail(f"{name}: there is no sound of {lost[0]}" + (f" and {len(lost) - 1} others" if len(lost) > 1 else ""))
    if len(rows) < 2:
        fail(f"{o.held} has {len(rows)} sentence: with fewer than two there is nothing to compare")
    return [r[0] for r in rows], [r[min(2, len(r) - 1)] for r in rows], sets


JUDGES = []  # of this process


def open_judges(o):
    """-> {judge: why it cannot}"""
    missing = {}
    for make in (Shape, Nisqa, Dnsmos, Resemblyzer):
        try:
            JUDGES.append(make(o))
        except (LookupError, ImportError) as e:
            missing[make.title] = str(e)
    return missing


def judge_file(path):
    return {k: v for judge in JUDGES for k, v in judge(path).items()}


def judge_all(o, texts, sets):
    """-> {name: {figure: [sentences]}}, the judges that ran, {judge: why it did not}"""
    with ProcessPoolExecutor(os.cpu_count(), mp_context=multiprocessing.get_context("spawn"), initializer=open_judges, initargs=(o,)) as pool:
        every = iter(list(pool.map(judge_file, [p for paths in sets.values() for p in paths])))
    found = {}
    for name, paths in sets.items():
        rows = [next(every) for _ in paths]
        found[name] = {k: np.array([r[k] for r in rows]) for k in rows[0]}
    missing = open_judges(o)
    ran = [judge.title for judge in JUDGES]
    try:
        for name, paths in sets.items():
            heard = hear(o, paths, texts)
            found[name].update({k: np.array([heard[p][k] for p in paths]) for k in ("wrong", "words")})
        ran.append("words")
    except LookupError as e:
        missing["words"] = str(e)
    for name, why in missing.items():
        say(f"SKIPPED {name}: {why}")
    return found, ran, missing


def summarise(mine, real):
    """{figure: value, figure_difference or figure_share: [value, low, high]}; of the recordings the values alone"""
    n, is_real = len(real["pitch"]), mine is real
    draws = np.random.default_rng(1).integers(0, n, (DRAWS, n))
    every = np.arange(n)[None]

    def interval(of):
        v = of(draws)
        return [float(of(every)[0]), *map(float, np.percentile(v, (2.5, 97.5)))]
    out = {}
    for k in ("nisqa", "dnsmos"):
        if k in real:
            out[k] = float(mine[k].mean())
            out[k + "_difference"] = interval(lambda d: (mine[k] - real[k])[d].mean(1))
    if "wrong" in real:
        points = lambda f, d: 100 * f["wrong"][d].sum(1) / f["words"][d].sum(1)
        out["words_wrong"] = float(points(mine, every)[0])
        out["words_wrong_difference"] = interval(lambda d: points(mine, d) - points(real, d))
    if "embedding" in real:
        others = lambda f: (f["embedding"] @ real["embedding"].T * (1 - np.eye(n))).sum(1) / (n - 1)
        mine, real = {**mine, "similarity": others(mine)}, {**real, "similarity": others(real)}
    for k in ("pitch", "seconds", "seconds_35", "movement", "detail", "similarity"):
        if k in real:
            out[k] = float(mine[k].sum() if k.startswith("seconds") else mine[k].mean())
            out[k + "_share"] = interval(lambda d: mine[k][d].sum(1) / np.maximum(real[k][d].sum(1), 1e-9))
    return {k: np.round(v, 4).tolist() for k, v in out.items() if not is_real or isinstance(v, float)}


COLUMNS = (("NISQA-TTS", "nisqa", "_difference", 2), ("DNSMOS", "dnsmos", "_difference", 2), ("words wrong", "words_wrong", "_difference", 1),
           ("pitch, st", "pitch", "_share", 2), ("length, s", "seconds", "_share", 3), ("length at 35 dB, s", "seconds_35", "_share", 3), ("movement", "movement", "_share", 2),
           ("detail", "detail", "_share", 2), ("similarity", "similarity", "_share", 3))


def show(rows):
    width = max(len(n) for n in rows) + 2
    for title, key, kind, digits in COLUMNS:
        if key not in rows[RECORDINGS]:
            continue
        print(f"\n{title:{width + 2}s} {'':>8s}  {'less the recordings' if kind == '_difference' else 'share of the recordings'}")
        for name, row in rows.items():
            line = f"  {name:{width}s} {row[key]:8.{2 if key == 'pitch' else min(digits, 3)}f}"
            if name != RECORDINGS:
                value, low, high = row[key + kind]
                sign = "+" if kind == "_difference" else ""
                line += f"  {value:{sign}.{digits}f}  ({low:{sign}.{digits}f} to {high:{sign}.{digits}f})"
            print(line)


def write_blind(folder, names, ids, sets):
    """for each sentence the sets in an order of its own; the key is beside the folder, not in it"""
    key = []
    for i, clip in enumerate(ids):
        os.makedirs(os.path.join(folder, clip), exist_ok=True)
        for letter, k in zip("abcdefghij", np.random.default_rng([7, i]).permutation(len(names))):
            x, rate = read_sound(sets[names[k]][i])
            with wave.open(os.path.join(folder, clip, letter + ".wav"), "wb") as f:
                f.setparams((1, 2, rate, 0, "NONE", ""))
                f.writeframes((32767 * np.clip(levelled(x, rate), -1, 1)).astype("<i2").tobytes())
            key.append(f"{clip}\t{letter}\t{names[k]}\n")
    with open(folder + "-key.tsv", "w", encoding="utf-8") as f:
        f.writelines(key)


def main():
    p = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    p.add_argument("folders", nargs="*")
    p.add_argument("--held", required=True)
    p.add_argument("--most", type=int, default=0)
    p.add_argument("--language", default="en")
    for name in ("--nisqa", "--dnsmos", "--resemblyzer", "--json-file", "--blind", "--blind-of"):
        p.add_argument(name)
    o = p.parse_args()
    try:
        ids, texts, sets = gather(o)
        found, ran, missing = judge_all(o, texts, sets)
        if o.blind:
            write_blind(os.path.normpath(o.blind), [n for n in sets if not o.blind_of or n in o.blind_of.split(",")], ids, sets)
    except OSError as e:
        fail(e)
    rows = {name: summarise(of, found[RECORDINGS]) for name, of in found.items()}
    print(f"{len(ids)} sentences; judges: {', '.join(ran)}" + (f"; SKIPPED: {', '.join(missing)}" if missing else ""))
    show(rows)
    summary = {"bench": "person", "sentences": len(ids), "judges": ran, "skipped": missing, "rows": rows}
    if o.json_file:
        clips = {name: {k: np.round(v, 4).tolist() for k, v in of.items() if k != "embedding"} for name, of in found.items()}
        with open(o.json_file, "w", encoding="utf-8") as f:
            json.dump({**summary, "ids": ids, "clips": clips}, f)
    print("\n" + json.dumps(summary))
    return 0


if __name__ == "__main__":
    sys.exit(main())
