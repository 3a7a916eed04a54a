from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indwell.errors import ToolError
from indwell.workspace.encoding.decoding import nothing_declared
from indwell.workspace.line_index import LineIndex, index_of, is_simple, start_of
from indwell.workspace.text import PIECE, split_lines

# Text before a border of two chunks, so that line ends are at the border, before and after it.
LEADS = [b"", b"x" * (PIECE - 2), b"ab\n" * (PIECE // 3), b"a\r" * (PIECE // 2 - 1) + b"b"]


def index(data: bytes, project=nothing_declared) -> LineIndex:
    return index_of(lambda at, size: data[at : at + size], len(data), project)


def starts(data: bytes) -> list[int]:
    """Return where lines begin, by splitting the whole text."""
    found, at = [], 0
    for line in split_lines(data.decode("latin-1")):
        found.append(at)
        at += len(line)
    return found


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(LEADS), st.text("a\r\n", max_size=12), st.text("a\r\n", max_size=12))
def test_the_index_finds_the_same_lines_as_splitting_the_text(
    lead: bytes, middle: str, end: str
) -> None:
    data = lead + middle.encode() + end.encode()
    expected = starts(data)
    found = index(data)
    assert found.n_lines == len(expected)
    for number in {0, 1, len(expected) // 2, len(expected) - 2, len(expected) - 1}:
        if 0 <= number < len(expected):
            start = start_of(number, found, lambda at, size: data[at : at + size])
            assert start == expected[number], number


def test_a_file_that_became_shorter_is_reported() -> None:
    found = index(b"a\n" * 10)
    with pytest.raises(ToolError, match="became shorter"):
        start_of(8, found, lambda _at, _size: b"a\n")


@pytest.mark.parametrize(
    ("data", "encoding", "is_guess", "n_stray"),
    [
        (b"plain\n", "utf-8", False, 0),
        (b"x" * (PIECE - 1) + "ü\n".encode(), "utf-8", False, 0),  # crosses the border
        ("größe\n".encode() * 9 + b"\xff\n", "utf-8", False, 1),
        ("größe\n".encode("latin-1"), "cp1252", True, 0),
        ("# coding: latin-1\ngröße\n".encode("latin-1"), "iso8859-1", False, 0),
        # the text ends in the middle of a character
        ("größe\n".encode() + b"\xc3", "utf-8", False, 1),
    ],
)
def test_the_encoding_is_determined_while_the_file_is_indexed(
    data, encoding, is_guess, n_stray
) -> None:
    found = index(data)
    assert (found.encoding, found.is_guess, found.n_stray) == (encoding, is_guess, n_stray)


def test_the_declared_encoding_is_used_for_a_large_file() -> None:
    found = index("größe\n".encode("latin-1"), lambda: "iso-8859-15")
    assert (found.encoding, found.is_guess) == ("iso8859-15", False)


def test_different_bytes_have_different_digests() -> None:
    assert index(b"a\n").digest == index(b"a\n").digest != index(b"b\n").digest


def test_encodings_of_one_byte_for_each_character_are_simple() -> None:
    names = ("utf-8", "cp1252", "iso8859-15", "koi8_r", "shift_jis", "gb18030", "utf-16-le", "nope")
    assert [is_simple(name) for name in names] == [True] * 4 + [False] * 4
