#!/usr/bin/env python3
"""Whose voice is it? Every spoken sentence of every speaker, recognised by an embedding nobody here trained and by its pitch.

usage: bench/speakers.py OUT [--spoken FOLDER] [--least SHARE] [--least-way SHARE]
  OUT            what tools/voice.sh leaves: reference/VOICE/NN.wav (the recordings) and spoken/VOICE/NN.wav (the voice); or what
                 bench/many_speakers leaves, whose speakers.tsv says who is trained and who is held out: then the folders of made/ are
                 judged, each by groups
  --spoken       another folder with a folder for each speaker, as OUT/griffin-lim; or another one than OUT/made
  --least SHARE  exit 1 when fewer are recognised, for a speaker and a measure (0.95); of groups they are only said
  --least-way    exit 1 when a group is less far on the way from the similarity of different speakers (0) to that of one speaker's recordings (1);
                 asked for groups only (0.5)
Needs Python with resemblyzer (PyPI; its weights come inside the package, nothing is fetched), torch and numpy; for example
  python3 -m venv build/speakers && build/speakers/bin/pip install torch resemblyzer && build/speakers/bin/python bench/speakers.py build/voice

Embedding: Resemblyzer's of the sentence; the speaker is the one whose mean embedding over the recordings has the highest cosine.
Pitch: the median of log F0 over the frames with a voice (autocorrelation, 60 to 400 Hz); the speaker is the one whose mean over the
recordings is nearest. A sentence is never compared with the same sentence of the recordings: it is left out of the mean. The
recordings themselves are judged by the same rule, which says how well the measure can do at all.
Similarity: the cosine of Resemblyzer's embeddings of two clips with different sentences, averaged over a speaker's pairs: spoken beside that
speaker's recordings, recordings of the same speaker, recordings of different speakers.
Prints a table and one JSON line. Exit 2: wrong use, 3: something is missing.
"""
import argparse
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np


def fail(text):
    print(f"speakers: {text}", file=sys.stderr)
    sys.exit(3)


def pitch_track(x, rate):
    """log F0 of the frames with a voice, 10 ms apart. Normalised autocorrelation of 40 ms, the first high peak."""
    size, hop = int(0.04 * rate), int(0.01 * rate)
    low, high = int(rate / 400), int(rate / 60)
    if len(x) < size + high:
        return np.zeros(0)
    frames = np.lib.stride_tricks.sliding_window_view(x, size + high)[::hop].astype(np.float64)
    frames = frames - frames.mean(1, keepdims=True)
    energy = (frames[:, :size] ** 2).sum(1)
    n = 1 << int(np.ceil(np.log2(size + high + size)))
    cross = np.fft.irfft(np.conj(np.fft.rfft(frames[:, :size], n)) * np.fft.rfft(frames, n), n)[:, : high + 1]
    squares = np.cumsum(np.pad(frames**2, ((0, 0), (1, 0))), axis=1)
    moved = squares[:, size:size + high + 1] - squares[:, :high + 1]
    r = cross / np.sqrt(np.maximum(energy[:, None] * moved, 1e-12))
    loud = energy > 0.01 * energy.max()
    found = []
    for row in r[loud]:
        best = row[low:].max()
        if best < 0.6:
            continue
        # The smallest lag that is a peak nearly as high: not twice the period.
        for lag in range(low, high):
            if row[lag] >= 0.9 * best and row[lag] >= row[lag - 1] and row[lag] >= row[lag + 1]:
                found.append(np.log(rate / lag))
                break
    return np.array(found)


def median_pitch(path):
    """Median of log F0 over the frames with a voice; NaN when there is none."""
    from judge_person import read_sound
    found = pitch_track(*read_sound(path))
    return float(np.median(found)) if len(found) else float("nan")


def listen(folder, speakers):
    """{speaker: {sentence: path}}"""
    found = {}
    for s in speakers:
        d = os.path.join(folder, s)
        if not os.path.isdir(d):
            fail(f"there is no {d}")
        found[s] = {int(f[:-4]): os.path.join(d, f) for f in os.listdir(d) if f.endswith(".wav") and f[:-4].isdigit()}
        if not found[s]:
            fail(f"there is no NN.wav in {d}")
    return found


def features(files, measure):
    """{speaker: {sentence: feature}}"""
    flat = [(s, n, p) for s, of in files.items() for n, p in of.items()]
    values = measure([p for _, _, p in flat])
    out = {s: {} for s in files}
    for (s, n, _), v in zip(flat, values):
        out[s][n] = v
    return out


def embed_some(paths):
    import torch
    from judge_person import Resemblyzer
    torch.set_num_threads(1)
    encoder = Resemblyzer()
    return [encoder(p)["embedding"] for p in paths]


def embed_all(paths):
    jobs = max(1, min(os.cpu_count(), len(paths) // 16))
    if jobs == 1:
        return embed_some(paths)
    parts = [paths[i::jobs] for i in range(jobs)]
    out = [None] * len(paths)
    with ProcessPoolExecutor(jobs) as pool:
        for i, some in enumerate(pool.map(embed_some, parts)):
            out[i::jobs] = some
    return out


def pitch_all(paths):
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(median_pitch, paths, chunksize=8))


def mean_without(values, sentence):
    """Mean over the recordings of a speaker, without the given sentence where others are left."""
    kept = [v for n, v in values.items() if n != sentence] or list(values.values())
    return np.nanmean(np.array(kept), axis=0)


def nearest_embedding(value, centres):
    return max(centres, key=lambda s: float(np.dot(value, centres[s]) / (np.linalg.norm(value) * np.linalg.norm(centres[s]) + 1e-12)))


def nearest_pitch(value, centres):
    return min(centres, key=lambda s: abs(value - centres[s])) if np.isfinite(value) else None


def judge(real, clips, nearest):
    """{speaker: {heard speaker: sentences}}"""
    heard = {}
    for s, of in clips.items():
        heard[s] = {}
        for n, value in of.items():
            who = nearest(value, {r: mean_without(real[r], n) for r in real})
            heard[s][who] = heard[s].get(who, 0) + 1
    return heard


MEASURES = (("embedding", embed_all, nearest_embedding), ("pitch", pitch_all, nearest_pitch))


def measure(files):
    """{measure: {speaker: {sentence: feature}}}"""
    try:
        return {name: features(files, how) for name, how, _ in MEASURES}
    except (ImportError, LookupError) as e:
        fail(f"{e}; pip install torch resemblyzer")


def measure_made(real, files):
    """-> {measure: who is heard}, similarities of each speaker; real: measure() of the recordings"""
    made, result = measure(files), {}
    for name, _, nearest in MEASURES:
        own = {s: real[name][s] for s in made[name]}
        result[name] = {"recordings": judge(real[name], own, nearest), "spoken": judge(real[name], made[name], nearest)}
    hz = lambda of: {s: round(float(np.exp(np.nanmedian(list(v.values())))), 1) for s, v in of.items()}
    result["pitch"].update(recordings_hz=hz(real["pitch"]), spoken_hz=hz(made["pitch"]))
    return result, similarities(real["embedding"], made["embedding"])


def similarities(real, made):
    """{speaker: {"spoken": , "same": , "different": }}: mean cosines of clips with different sentences"""
    def unit(v):
        return v / (np.linalg.norm(v) + 1e-12)

    def mean(pairs):
        return float(np.mean(pairs)) if len(pairs) else float("nan")
    sums = {}  # of all speakers' recordings of a sentence: a sum stands for all the others at once
    for of in real.values():
        for n, v in of.items():
            total, count = sums.get(n, (0, 0))
            sums[n] = (total + unit(v), count + 1)
    out = {}
    for s in made:
        own = {n: unit(v) for n, v in real[s].items()}
        different = []
        for n, v in own.items():
            for m, (total, count) in sums.items():
                rest = count - (m in own)
                if m != n and rest:
                    different.append(float(np.dot(v, total - own.get(m, 0))) / rest)
        out[s] = {"spoken": mean([np.dot(unit(v), w) for n, v in made[s].items() for m, w in own.items() if m != n]),
                  "same": mean([np.dot(v, w) for n, v in own.items() for m, w in own.items() if m != n]), "different": mean(different)}
    return out


def way(row):
    """how far the voice is on the way from anybody (0) to the speaker (1)"""
    return (row["spoken"] - row["different"]) / max(row["same"] - row["different"], 1e-9)


def read_groups(out, made):
    """[(title, folder, speakers)] of speakers.tsv and what is in made; None where there is no speakers.tsv"""
    path = os.path.join(out, "speakers.tsv")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as f:
        kinds = dict(line.rstrip("\n").split("\t")[:2] for line in f)
    groups = []
    for folder, group, title in (("copy", None, "copy synthesis"), ("speaker", "trained", "--speaker"), ("reference", "trained", "--reference, trained"),
                                 ("reference", "held-out", "--reference, held out")):
        d = os.path.join(made, folder)
        members = [s for s in kinds if (group is None or kinds[s] == group) and os.path.isdir(os.path.join(d, s))]
        if members:
            groups.append((title, d, sorted(members)))
    return groups or fail(f"there is no folder speaker, reference or copy in {made}; bench/many_speakers speak makes them")


def judge_groups(groups, real, least):
    """Prints a row for each group; -> {group: figures}, {group: {speaker: similarities}}, whether all are far enough."""
    figures, found, passed = {}, {}, True
    print(f"{'similarity':24s} {'speakers':>8s} {'spoken':>8s} {'same':>8s} {'different':>10s} {'way':>6s} {'nearest':>9s} {'recordings':>11s} {'pitch off':>10s}")
    for title, folder, members in groups:
        result, similarity = measure_made(real, listen(folder, members))
        row = {k: float(np.mean([similarity[s][k] for s in members])) for k in ("spoken", "same", "different")}
        row["way"] = way(row)
        row.update({kind: float(np.mean([shares(result["embedding"][key])[s] for s in members])) for kind, key in (("recognised", "spoken"),
                                                                                                                  ("recordings_recognised", "recordings"))})
        row["semitones"] = float(np.nanmean([abs(12 * np.log2(result["pitch"]["spoken_hz"][s] / result["pitch"]["recordings_hz"][s])) for s in members]))
        print(f"  {title:22s} {len(members):8d} {row['spoken']:8.3f} {row['same']:8.3f} {row['different']:10.3f} {row['way']:6.2f} "
              f"{100 * row['recognised']:8.1f}% {100 * row['recordings_recognised']:10.1f}% {row['semitones']:7.1f} st", flush=True)
        worst = sorted(similarity, key=lambda s: way(similarity[s]))[:4]
        print("    least alike: " + ", ".join(f"{s} ({way(similarity[s]):.2f})" for s in worst), flush=True)
        passed &= row["way"] >= least
        figures[title] = dict(row, speakers=len(members))
        found[title] = similarity
    return figures, found, passed


def rounded(similarity):
    return {s: {k: round(v, 4) for k, v in of.items()} for s, of in similarity.items()}


def shares(heard):
    return {s: of.get(s, 0) / sum(of.values()) for s, of in heard.items()}


def show_speakers(speakers, result, similarity, least):
    """A column for each speaker; -> whether all are recognised."""
    passed = True
    print(f"{'recognised as themselves':26s} " + " ".join(f"{s:>8s}" for s in speakers))
    for name, r in result.items():
        for kind in ("recordings", "spoken"):
            share = shares(r[kind])
            print(f"  by {name + ', ' + kind:21s} " + " ".join(f"{100 * share[s]:7.1f}%" for s in speakers))
            if kind == "spoken":
                passed &= min(share.values()) >= least
    for key, words in (("spoken", "spoken"), ("same", "same speaker"), ("different", "other speakers")):
        print(f"  {'similarity, ' + words:24s} " + " ".join(f"{similarity[s][key]:8.3f}" for s in speakers))
    for kind in ("recordings", "spoken"):
        print(f"  {'pitch in Hz, ' + kind:24s} " + " ".join(f"{result['pitch'][kind + '_hz'][s]:8.1f}" for s in speakers))
    for name, r in result.items():
        for s in speakers:
            wrong = {w or "nobody": n for w, n in r["spoken"][s].items() if w != s}
            if wrong:
                print(f"  {s} by {name}: heard as " + ", ".join(f"{w} {n} times" for w, n in sorted(wrong.items(), key=lambda i: -i[1])))
    print("well" if passed else "NOT RECOGNISED", f"(at least {100 * least:g} % are wanted)")
    return passed


def main():
    p = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    p.add_argument("out")
    p.add_argument("--spoken")
    p.add_argument("--least", type=float, default=0.95)
    p.add_argument("--least-way", type=float, default=0.5)
    o = p.parse_args()
    reference, spoken = os.path.join(o.out, "reference"), o.spoken
    if not os.path.isdir(reference):
        fail(f"there is no folder {reference}")
    speakers = sorted(d for d in os.listdir(reference) if os.path.isdir(os.path.join(reference, d)))
    if len(speakers) < 2:
        fail(f"{reference} has {len(speakers)} speaker: with fewer than two there is nothing to tell apart")
    groups = read_groups(o.out, spoken or os.path.join(o.out, "made"))
    made = None if groups else listen(spoken or os.path.join(o.out, "spoken"), speakers)
    real = measure(listen(reference, speakers))
    if groups:
        figures, similarity, passed = judge_groups(groups, real, o.least_way)
        print("well" if passed else "NOT ALIKE", f"(at least {o.least_way:g} of the way is wanted)")
        more = {"groups": figures, "similarity": {title: rounded(of) for title, of in similarity.items()}}
    else:
        result, similarity = measure_made(real, made)
        passed = show_speakers(speakers, result, similarity, o.least)
        more = {"sentences": {s: len(made[s]) for s in speakers}, "similarity": rounded(similarity),
                **{name: {"recordings": shares(r["recordings"]), "spoken": shares(r["spoken"]),
                          **{k: v for k, v in r.items() if k.endswith("_hz")}} for name, r in result.items()}}
    json.dump({"speakers": speakers, "least": o.least, "passed": bool(passed), **more}, sys.stdout)
    print()
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
