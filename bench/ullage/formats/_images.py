"""Width and height of images from the first bytes of the file; nothing is decoded further."""

from __future__ import annotations

import base64
import binascii
import struct

HEAD_CHARACTERS = 1 << 16
"""Base64 characters that are looked at: a JPEG may carry 30 kB of metadata before its size."""
LARGEST_SIDE = 1 << 16


def image_size(data: str) -> tuple[int, int]:
    """Width and height of a base64 PNG, JPEG, GIF or WebP in pixels; 0, 0 where the header does not tell."""
    try:
        head = base64.b64decode(data[: HEAD_CHARACTERS if data.startswith("/9j/") else 64], validate=False)
        width, height = _size(head)
    except (binascii.Error, ValueError, struct.error):
        return 0, 0
    return (width, height) if max(width, height) <= LARGEST_SIDE else (0, 0)


def _size(head: bytes) -> tuple[int, int]:
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return _pair(">II", head, 16)
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return _pair("<HH", head, 6)
    if head.startswith(b"\xff\xd8"):
        return _jpeg(head)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return _webp(head)
    return 0, 0


def _jpeg(head: bytes) -> tuple[int, int]:
    """Walk the segments to the frame header (SOF0 to SOF15 without the tables between them)."""
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = _pair(">HH", head, at + 5)
            return width, height
        at += 2 + int(struct.unpack_from(">H", head, at + 2)[0])
    return 0, 0


def _webp(head: bytes) -> tuple[int, int]:
    if head[12:16] == b"VP8X":
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if head[12:16] == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = _pair("<HH", head, 26)
    return width & 0x3FFF, height & 0x3FFF


def _pair(form: str, head: bytes, at: int) -> tuple[int, int]:
    first, second = struct.unpack_from(form, head, at)
    return int(first), int(second)
