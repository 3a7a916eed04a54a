from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.workspace.text import (
    PIECE,
    Decoded,
    binary_kind,
    count_lines,
    decode_as,
    encode,
    halves,
    line_at,
    line_spans,
    shown,
    split_lines,
    wide_mark,
)

LINES = st.text("ab\r\n\x0b\x0c\x85\u2028", max_size=30)


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_decoded_text_encodes_to_the_same_bytes(mark: bytes) -> None:
    data = mark + "a\r\nb\rc\n\u00e9".encode()
    decoded = decode_as(data, "utf-8", mark=mark)
    assert decoded == Decoded("a\r\nb\rc\n\u00e9", "utf-8", mark)
    assert encode(decoded.text, decoded) == data


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"a\xff", "utf-8"),
        (b"a\0b", "utf-16-le"),
        # one of two codes for a character, which would become the other code
        (b"\x87\x9a", "cp932"),
        (b"\x1b$B$\x22", "iso2022_jp"),
    ],
)
def test_bytes_that_would_not_round_trip_are_refused(data: bytes, encoding: str) -> None:
    with pytest.raises(UnicodeError):
        decode_as(data, encoding)


@given(st.binary(max_size=50), st.sampled_from(["utf-8", "cp1252", "shift_jis"]))
def test_arbitrary_bytes_survive_as_lone_surrogates(data: bytes, encoding: str) -> None:
    try:
        decoded = decode_as(data, encoding, "surrogateescape")
    except UnicodeError:
        assert encoding == "shift_jis"
    else:
        assert encode(decoded.text, decoded) == data


@pytest.mark.parametrize("text", ["\u00e9", "\u6f22", "\U0001f600", "a\r\n"])
def test_a_character_across_two_chunks_is_decoded_correctly(text: str) -> None:
    for shift in range(5):
        whole = "x" * (PIECE - shift) + text + "y"
        for encoding in ("utf-8", "utf-16-le", "gb18030"):
            data = whole.encode(encoding)
            assert decode_as(data, encoding).text == whole
            assert encode(whole, Decoded("", encoding)) == data


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"plain", None),
        (b"", None),
        (b"\x7fELF\0", "binary file"),
        (b"\x89PNG\r\n\x1a\n", "PNG image"),
        (b"\xff\xd8\xff\xe0", "JPEG image"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "WebP image"),
        (b"BMW is a car", None),
    ],
)
def test_the_kind_of_a_binary_file_is_named(data: bytes, kind: str | None) -> None:
    assert binary_kind(data) == kind


def test_utf_16_and_utf_32_are_recognised_by_their_byte_order_mark() -> None:
    marks = (b"\xff\xfea\0", b"\xfe\xff\0a", b"\xff\xfe\0\0a\0\0\0", b"\0\0\xfe\xff", b"a\0")
    assert [wide_mark(mark) for mark in marks] == ["UTF-16", "UTF-16", "UTF-32", "UTF-32", None]


def test_lone_surrogates_are_shown_as_escapes() -> None:
    text = "caf\udce9 \ud83d \u00e9 \\xe9"
    assert shown(text) == "caf\\xe9 \\ud83d \u00e9 \\xe9"
    assert halves(text) == "\udce9\ud83d"


@given(st.text(st.characters(codec=None), max_size=20))
def test_shown_text_can_always_be_encoded(text: str) -> None:
    assert shown(text).encode().decode() == shown(text)


def test_only_line_feeds_and_carriage_returns_end_a_line() -> None:
    assert split_lines("a\x0cb\u2028c\r\nd\re\n\nf") == [
        "a\x0cb\u2028c\r\n",
        "d\r",
        "e\n",
        "\n",
        "f",
    ]


@given(LINES)
def test_joined_lines_equal_the_text(text: str) -> None:
    assert "".join(split_lines(text)) == text


@given(LINES, st.integers(0, 12), st.sampled_from(["", "x" * 1_023, "x" * (PIECE - 1)]))
def test_line_spans_of_a_part_equal_the_lines_of_the_whole_text(
    text: str, first: int, lead: str
) -> None:
    text = lead + text
    lines = split_lines(text)
    assert count_lines(text) == len(lines)
    assert [text[start:stop] for start, stop in line_spans(text, first)] == lines[first:]


@given(LINES, st.data())
def test_the_line_number_of_an_offset_is_the_line_that_contains_the_offset(
    text: str, data: st.DataObject
) -> None:
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
