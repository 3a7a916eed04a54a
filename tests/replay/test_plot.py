"""Pictures of tokens per request."""

from __future__ import annotations

import struct
import zlib
from xml.etree import ElementTree as ET

from indwell.replay.plot import dots, plot

SERIES = {"default": (10, 60, 30), "a<b": (10, 90)}


def test_an_svg_names_its_lines_and_escapes_them() -> None:
    picture = plot(SERIES, 80).decode()
    root = ET.fromstring(picture)  # noqa: S314 - our own
    texts = {one.text for one in root if one.tag.endswith("text")}
    assert {"default", "a<b", "window 80", "90", "0", "3"} <= texts
    assert picture.count("<polyline") == 2 + len(SERIES)


def test_a_png_is_whole_and_shows_each_line_in_its_colour_at_its_height() -> None:
    width, height, palette, rows = decoded(plot(SERIES, 80, ".png"))
    assert (width, height, len(rows)) == (1800, 840, 840)
    blue, red = palette.index("1b6ca8"), palette.index("c8553d")
    highest = {colour: _first_row(rows, colour, start=100) for colour in (blue, red)}
    top, bottom = 120, 720  # dots: the axis from 0 to 90 tokens
    assert highest[red] == top
    assert abs(highest[blue] - (bottom - 60 / 90 * (bottom - top))) <= 2
    assert _first_row(rows, blue, start=0) < 60, "the legend"


def test_a_series_without_requests_and_letters_nobody_drew_are_no_fault() -> None:
    assert plot({"ß": ()}, 1, ".png").startswith(b"\x89PNG")
    assert len(set(dots("ß"))) == 20, "a box"


def decoded(picture: bytes) -> tuple[int, int, list[str], list[bytes]]:
    """Width, height, palette and rows of a PNG; its check sums hold."""
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(picture):
        length, name = struct.unpack(">I4s", picture[at : at + 8])
        body = picture[at + 8 : at + 8 + length]
        (sum_,) = struct.unpack(">I", picture[at + 8 + length : at + 12 + length])
        assert sum_ == zlib.crc32(name + body)
        chunks[name] = body
        at += 12 + length
    width, height, depth, kind = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, kind) == (8, 3)
    data = zlib.decompress(chunks[b"IDAT"])
    rows = [data[at + 1 : at + 1 + width] for at in range(0, len(data), width + 1)]
    palette = [chunks[b"PLTE"][at : at + 3].hex() for at in range(0, len(chunks[b"PLTE"]), 3)]
    return width, height, palette, rows


def _first_row(rows: list[bytes], colour: int, *, start: int) -> int:
    return next(number for number in range(start, len(rows)) if colour in rows[number])
