#!/usr/bin/env python3
"""How good copies of recordings sound to two judges nobody here trained: PESQ (ITU-T P.862.2, wide band) and DNSMOS (P.835, overall).

usage: judge_sound.py RECORDINGS COPIES...
  each a folder with WAV files; a file of RECORDINGS is compared with the one of the same name in each folder of COPIES
Prints one JSON object: for each folder, in the order given, {"NAME.wav": {"pesq": P, "dnsmos": D}}; recordings have no PESQ.
Needs Python with pesq, speechmos (its weights come inside the package) and soundfile; bench/vocoder installs them.

Both judges hear 16 kHz; what has another rate is resampled. DNSMOS depends on how loud a clip is, so copies are first set to the level of their
recordings; PESQ does that itself. A copy in which PESQ finds no speech gets its lowest figure, 1.0. Exit 2: wrong use, 3: something is missing.
"""
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor

RATE = 16000
NO_SPEECH = 1.0


def load(path):
    import numpy as np
    import soundfile
    import soxr
    x, rate = soundfile.read(path, dtype="float32")
    x = x if x.ndim == 1 else x.mean(1)
    return np.ascontiguousarray(x if rate == RATE else soxr.resample(x, rate, RATE, "VHQ"))


def level(x):
    return float((x.astype("float64") ** 2).mean() ** 0.5) if len(x) else 0.0


def judge(task):
    """(recording, copy or None) -> figures"""
    import numpy as np
    import pesq
    from speechmos import dnsmos
    recording, copy = task
    said = load(recording)
    x = said
    if copy:
        x = load(copy)
        x = x * (level(said) / level(x)) if level(x) > 0 else x
    figures = {"dnsmos": round(float(dnsmos.run(np.clip(x, -1, 1), RATE)["ovrl_mos"]), 4)}
    if copy:
        try:
            figures["pesq"] = round(float(pesq.pesq(RATE, said, x, "wb")), 4)
        except pesq.NoUtterancesError:
            figures["pesq"] = NO_SPEECH
    return figures


def main():
    folders = sys.argv[1:]
    if len(folders) < 1 or folders[0].startswith("-"):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    try:
        names = sorted(n for n in os.listdir(folders[0]) if n.endswith(".wav"))
        tasks = [(f, n) for f in folders for n in names]
        pairs = [(os.path.join(folders[0], n), os.path.join(f, n) if f != folders[0] else None) for f, n in tasks]
        missing = [c for _, c in pairs if c and not os.path.exists(c)]
        if missing or not names:
            print(f"judge_sound: there is no {missing[0] if missing else folders[0] + '/*.wav'}", file=sys.stderr)
            return 3
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            figures = list(pool.map(judge, pairs))
    except (ImportError, OSError) as e:
        print(f"judge_sound: {e}", file=sys.stderr)
        return 3
    result = {f: {} for f in folders}
    for (f, n), of in zip(tasks, figures):
        result[f][n] = of
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
