"""A small dataset for the tests: tones of different lengths, three speakers."""
import math
import os
import struct
import wave

CLIPS = 60
WORDS = "one two three four five six seven eight nine ten".split()
# Quick to prepare: letters instead of phonemes, few bands.
SETTINGS = dict(use_phonemes=False, text_cleaners="basic", min_audio_length=0.05, val_split=0, batch_size=8, n_mels=20,
                enable_multispeaker=True, num_workers=2, length_buckets=3, seed=7)


def make(folder, clips=CLIPS, rate=22050):
    os.makedirs(os.path.join(folder, "wavs"))
    with open(os.path.join(folder, "metadata.csv"), "w", encoding="utf-8") as f:
        for i in range(clips):
            text = " ".join(WORDS[(i + k) % 10] for k in range(2 + i % 5))
            f.write(f"clip{i:02d}|{text}|{text}|voice{i % 3}\n")
            n = int(rate * (0.3 + 0.013 * (i * 7 % 41)))
            tone = [int(9000 * math.sin(2 * math.pi * (120 + 5 * i) * k / rate)) for k in range(n)]
            with wave.open(os.path.join(folder, "wavs", f"clip{i:02d}.wav"), "wb") as w:
                w.setparams((1, 2, rate, n, "NONE", ""))
                w.writeframes(struct.pack(f"<{n}h", *tone))
    return folder
