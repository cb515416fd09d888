#!/usr/bin/env python3
"""Reads the event files that `test_event_log --write DIR` makes with the tensorboard package, and compares what it finds with what went in.

Exit code 1 when something differs. Needs tensorboard (2.x), numpy, soundfile and build/tests/test_event_log (make programs)."""
import argparse
import glob
import io
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np
import soundfile
from tensorboard.backend.event_processing import event_accumulator, event_file_loader, io_wrapper

problems = 0


def check(what, got, expected):
    global problems
    good = got == expected
    problems += not good
    print(f"{'ok  ' if good else 'BAD '} {what}: {got}" + ("" if good else f", expected {expected}"))


def compare(program, folder):
    subprocess.run([program, "--write", folder], check=True)
    files = sorted(glob.glob(os.path.join(folder, "events.out.tfevents.*")))
    check("files", len(files), 2)
    check("TensorBoard knows them by their names", all(io_wrapper.IsSummaryEventsFile(f) for f in files), True)
    first = list(event_file_loader.LegacyEventFileLoader(files[0]).Load())
    check("version", first[0].file_version, "brain.Event:2")
    check("events in the first file", len(first), 1 + 10 + 3)
    check("time", all(1700000000.25 <= e.wall_time < 1700000060 for e in first), True)
    log = event_accumulator.EventAccumulator(folder, size_guidance={k: 0 for k in event_accumulator.DEFAULT_SIZE_GUIDANCE})
    log.Reload()
    tags = log.Tags()
    check("scalars", tags["scalars"], ["loss/total"])
    # the second run starts at step 5: what the first one says from there on is gone
    expected = [(s, np.float32(1 / (s + 1))) for s in range(5)] + [(s, np.float32(1 / (s + 1) + 100)) for s in range(5, 15)]
    check("loss after the resume", [(e.step, np.float32(e.value)) for e in log.Scalars("loss/total")], expected)
    image = log.Images("mel/predicted")[-1]
    size = struct.unpack(">II", image.encoded_image_string[16:24])
    check("picture: step, width, height, PNG's own", (image.step, image.width, image.height, size), (15, 30, 20, (30, 20)))
    try:
        from PIL import Image

        pixels = np.asarray(Image.open(io.BytesIO(image.encoded_image_string)))
        y, x = np.mgrid[0:20, 0:30]
        check("pixels", bool((pixels == np.stack([x * 8, y * 12, 0 * x + 77], -1)).all()), True)
    except ImportError:
        print("SKIPPED: pixels, there is no PIL")
    audio = log.Audio("voice/first")[-1]
    check("audio: rate, samples, type", (audio.sample_rate, audio.length_frames, audio.content_type), (8000.0, 400, "audio/wav"))
    samples, rate = soundfile.read(io.BytesIO(audio.encoded_audio_string), dtype="float32")
    wave = 0.5 * np.sin(np.arange(400, dtype=np.float32) * np.float32(0.2))
    check("samples", (rate, samples.size, bool(np.abs(samples - wave).max() < 2**-15)), (8000, 400, True))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/tests/test_event_log")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compare(args.program, folder)
    print("all equal" if problems == 0 else f"{problems} differences")
    return 1 if problems else 0


sys.exit(main())
