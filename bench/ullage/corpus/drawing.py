"""Small pictures without a library: bar charts and tables of shades as PNG, stored uncompressed so that bytes never vary."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

PALETTE = bytes((255, 255, 255, 40, 40, 48, 66, 110, 180, 205, 92, 60))
"""White, ink, blue, red: the colour of a pixel is its index."""
WHITE, INK, BLUE, RED = range(4)


def png(pixels: Sequence[Sequence[int]]) -> bytes:
    """Rows of palette indices as a PNG with two bits a pixel; the width must be a multiple of four."""
    height, width = len(pixels), len(pixels[0])
    rows = bytearray()
    for row in pixels:
        rows.append(0)
        for start in range(0, width, 4):
            a, b, c, d = row[start : start + 4]
            rows.append(a << 6 | b << 4 | c << 2 | d)
    head = struct.pack(">IIBBBBB", width, height, 2, 3, 0, 0, 0)
    parts = [
        _chunk(b"IHDR", head),
        _chunk(b"PLTE", PALETTE),
        _chunk(b"IDAT", zlib.compress(bytes(rows), 0)),
        _chunk(b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def bars(heights: Sequence[int], *, width: int = 240, height: int = 120) -> bytes:
    """A bar chart; the tallest bar is red."""
    pixels = [[WHITE] * width for _ in range(height)]
    top, step = max(heights), (width - 12) // len(heights)
    for number, value in enumerate(heights):
        colour = RED if value == top else BLUE
        for y in range(height - 6 - round(value / top * (height - 16)), height - 6):
            for x in range(8 + number * step, 8 + number * step + max(1, step - 2)):
                pixels[y][x] = colour
    for x in range(4, width - 4):
        pixels[height - 6][x] = INK
    for y in range(4, height - 5):
        pixels[y][6] = INK
    return png(pixels)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
