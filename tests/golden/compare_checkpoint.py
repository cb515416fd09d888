#!/usr/bin/env python3
"""Checkpoints against the Python package `safetensors`. Run by tests/voice/test_safetensors.c, or by hand:
    compare_checkpoint.py check FILE    FILE, written by that test, holds exactly the sample below; checksum and alignment too
    compare_checkpoint.py write FILE    writes the sample with the package
    compare_checkpoint.py resave FILE   loads FILE and saves it again with its metadata
    compare_checkpoint.py show FILE     what is in any checkpoint, as the package reads it
Exit code 1 when something differs."""
import json
import math
import struct
import sys

import numpy as np
import safetensors

# name: (type, shape, bytes), as in tests/voice/test_safetensors.c
SAMPLE = {
    "text/bytes": ("U8", [5], bytes([0, 1, 127, 128, 255])),
    "decoder.weight": ("F32", [2, 3], struct.pack("<6f", 0, -1.5, 3.25, 1e-30, -65504, 16777216)),
    "halves": ("BF16", [1, 2, 2], struct.pack("<4H", 0x3F80, 0xC000, 0, 0x7F80)),
    "\u0648\u0632\u0646 \"quoted\"\\": ("I32", [2], struct.pack("<2i", -2**31, 7)),
    "empty": ("F32", [0, 7], b""),
    "steps": ("I64", [3], struct.pack("<3q", -1, 0, 2**63 - 1)),
    "scalar": ("F32", [], struct.pack("<f", 42.5)),
}
META = {"config": "model:\n  size: \"nano\"\n", "symbols": "\u0259\u02c8 \u201cq\u201d \U0001f600 \t\x01", "": "", "step": "1000"}
LONG_NAMES = {"U8": "uint8", "F32": "float32", "BF16": "bfloat16", "I32": "int32", "I64": "int64"}


def load(path):
    with open(path, "rb") as f:
        raw = f.read()
    return raw, {name: (t["dtype"], list(t["shape"]), bytes(t["data"])) for name, t in safetensors.deserialize(raw)}


def metadata(path):
    with safetensors.safe_open(path, framework="np") as f:
        return f.metadata()


def check(path):
    raw, tensors = load(path)
    assert tensors == SAMPLE, tensors
    own = metadata(path)
    checksum = own.pop("xxh128")
    assert own.pop("written_by") == "myxtts" and own == META, own
    length = struct.unpack("<Q", raw[:8])[0]
    assert (8 + length) % 64 == 0, length
    assert json.loads(raw[8:8 + length])["__metadata__"]["xxh128"] == checksum
    try:
        import xxhash
    except ImportError:
        print("the checksum is not compared: there is no Python package xxhash")
    else:
        assert xxhash.xxh3_128_hexdigest(raw.replace(checksum.encode(), b"0" * 32, 1)) == checksum
    with safetensors.safe_open(path, framework="np") as f:  # the way users load: arrays
        weight = f.get_tensor("decoder.weight")
        assert weight.dtype == np.float32 and weight.shape == (2, 3) and weight[0, 1] == -1.5
        assert f.get_tensor("scalar").shape == () and math.isclose(float(f.get_tensor("scalar")), 42.5)
        assert f.get_slice("steps")[2:3][0] == 2**63 - 1


def save(tensors, path, meta):
    """By the package's lowest call, which takes BF16 without torch; its argument has another form since 0.8."""
    buffers, specs = [], {}
    for name, (dtype, shape, data) in tensors.items():
        if hasattr(safetensors, "TensorSpec"):
            buffers.append(np.frombuffer(data or b"\0", np.uint8))
            specs[name] = safetensors.TensorSpec(dtype=LONG_NAMES[dtype], shape=shape, data_ptr=buffers[-1].ctypes.data, data_len=len(data))
        else:
            specs[name] = {"dtype": LONG_NAMES[dtype], "shape": shape, "data": data}
    safetensors.serialize_file(specs, path, metadata=meta)


def write(path):
    save(SAMPLE, path, META)


def resave(path):
    save(load(path)[1], path, metadata(path))


def show(path):
    for key, value in (metadata(path) or {}).items():
        print(f"{key}: {value if len(value) < 80 else value[:77] + '...'!r}")
    for name, (dtype, shape, data) in sorted(load(path)[1].items()):
        print(f"{name}: {dtype} {shape} {len(data)} bytes")


def main():
    verbs = {"check": check, "write": write, "resave": resave, "show": show}
    if len(sys.argv) != 3 or sys.argv[1] not in verbs:
        sys.exit(__doc__)
    verbs[sys.argv[1]](sys.argv[2])


if __name__ == "__main__":
    main()
