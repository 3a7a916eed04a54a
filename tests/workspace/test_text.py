from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.workspace.text import Decoded, binary_kind, decode, encode, line_at, split_lines

LINES = st.text("ab\r\n\x0b\x0c\x85\u2028", max_size=30)


@pytest.mark.parametrize(
    ("data", "decoded"),
    [
        (b"", Decoded("")),
        (b"a\r\nb\rc\n", Decoded("a\r\nb\rc\n")),
        (codecs.BOM_UTF8 + b"a\n", Decoded("a\n", "utf-8", codecs.BOM_UTF8)),
        (b"\xff\xfea\x00\n\x00", Decoded("a\n", "utf-16-le", b"\xff\xfe")),
        (b"\xfe\xff\x00a\x00\n", Decoded("a\n", "utf-16-be", b"\xfe\xff")),
        (b"caf\xe9\n", Decoded("caf\\xe9\n", lossless=False)),
        (b"\xff\xfea\x00\n", Decoded("a\\x0a", "utf-16-le", b"\xff\xfe", lossless=False)),
    ],
)
def test_bytes_become_text(data: bytes, decoded: Decoded) -> None:
    assert decode(data) == decoded


@given(st.binary(max_size=50))
def test_what_is_lossless_gives_the_same_bytes_again(data: bytes) -> None:
    decoded = decode(data)
    if decoded.lossless:
        assert encode(decoded.text, decoded) == data


@given(LINES, st.sampled_from([b"", codecs.BOM_UTF8, b"\xff\xfe", b"\xfe\xff"]))
def test_any_text_survives_any_encoding(text: str, mark: bytes) -> None:
    like = decode(mark)
    assert decode(encode(text, like)) == Decoded(text, like.encoding, mark)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"plain", None),
        (b"", None),
        (b"\xff\xfea\x00", None),
        (b"\x7fELF\0", "binary file"),
        (b"\x89PNG\r\n\x1a\n", "PNG image"),
        (b"\xff\xd8\xff\xe0", "JPEG image"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "WebP image"),
        (b"BMW is a car", None),
        (b"\xff\xfe\0\0a\0\0\0", "UTF-32 text"),
    ],
)
def test_what_is_no_text_is_named(data: bytes, kind: str | None) -> None:
    assert binary_kind(data) == kind


def test_only_line_feeds_and_returns_end_a_line() -> None:
    assert split_lines("a\x0cb\u2028c\r\nd\re\n\nf") == [
        "a\x0cb\u2028c\r\n",
        "d\r",
        "e\n",
        "\n",
        "f",
    ]


@given(LINES)
def test_lines_join_to_the_text(text: str) -> None:
    assert "".join(split_lines(text)) == text


@given(LINES, st.data())
def test_a_character_stands_in_the_line_that_holds_it(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    ends = 0
    number = 1
    for number, line in enumerate(split_lines(text), 1):  # noqa: B007 - the last number counts
        ends += len(line)
        if offset < ends:
            break
    else:
        number = len(split_lines(text)) + (text[-1:] in {"", "\n", "\r"})
    assert line_at(text, offset) == max(number, 1)
