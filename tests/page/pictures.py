#!/usr/bin/env python3
"""The pictures of the pages in docs/: pictures.py SERVER OUT FOLDER."""
import os
import struct
import sys
import zlib

import browser

TEXT = "The birch canoe slid on the smooth planks. It is easy to tell the depth of a well."


def shrink(path):
    """The same picture in fewer levels of each colour but the lightest and the darkest, which is half the bytes: the browser writes 8-bit RGB or RGBA, not interlaced."""
    with open(path, "rb") as f:
        data = f.read()
    at, pixels = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
        elif kind == b"IDAT":
            pixels += data[at + 8:at + 8 + size]
        at += 12 + size
    n = 4 if colour == 6 else 3
    pixels, line = zlib.decompress(pixels), width * n
    levels = bytes(v if v < 60 or v > 220 else round(v / 8) * 8 for v in range(256))
    before, out = bytearray(line), bytearray()
    for y in range(height):
        kind, row = pixels[y * (line + 1)], bytearray(pixels[y * (line + 1) + 1:(y + 1) * (line + 1)])
        for i in range(line):
            left, up, corner = (row[i - n] if i >= n else 0), before[i], (before[i - n] if i >= n else 0)
            if kind == 1:
                row[i] = (row[i] + left) & 255
            elif kind == 2:
                row[i] = (row[i] + up) & 255
            elif kind == 3:
                row[i] = (row[i] + (left + up) // 2) & 255
            elif kind == 4:
                p = left + up - corner
                best = min((abs(p - left), 0, left), (abs(p - up), 1, up), (abs(p - corner), 2, corner))[2]
                row[i] = (row[i] + best) & 255
        before = row
        rgb = row if n == 3 else bytearray(v for i, v in enumerate(row) if i % 4 != 3)
        out += b"\0" + rgb.translate(levels)

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    with open(path, "wb") as f:
        f.write(data[:8] + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(bytes(out), 9)) + chunk(b"IEND", b""))


def speak(b, base, out, language, dark):
    b.set_languages(language)
    b.set_media(dark)
    b.set_size(1000, 1090)
    b.open(base + "/")
    b.until("document.getElementById('voice').options.length > 0", 20)
    b.value("document.getElementById('text').select()")
    b.type(TEXT)
    b.value("document.getElementById('speak').focus()")
    b.enter()
    b.until("document.getElementById('audio').currentTime > 1.6", 30)
    b.until("document.querySelector('.now-symbol') !== null", 5)
    b.set_size(1000, b.value("document.documentElement.getBoundingClientRect().height | 0"))
    b.picture(out)
    shrink(out)
    b.value("localStorage.clear()")


def main():
    base, out, folder = sys.argv[1:4]
    b = browser.Browser(folder)
    b.call("Emulation.setScrollbarsHidden", hidden=True)
    try:
        speak(b, base, os.path.join(out, "page-en.png"), "en-GB", False)
        speak(b, base, os.path.join(out, "page-fa.png"), "fa-IR", False)
        speak(b, base, os.path.join(out, "page-dark.png"), "en-GB", True)
        b.set_media(False)
        b.set_languages("en-GB")
        b.set_size(1000, 2100)
        b.open(base + "/runs" + (f"#{sys.argv[4]}" if len(sys.argv) > 4 else ""))
        b.until("document.querySelectorAll('.curve').length > 3", 20)
        b.pump(3)
        b.picture(os.path.join(out, "runs.png"))
        shrink(os.path.join(out, "runs.png"))
    finally:
        b.close()


if __name__ == "__main__":
    main()
