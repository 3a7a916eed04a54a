from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol.types import Position, PositionEncodingKind

from indwell.workspace.text import document_lines, index_in_line, units_in_line
from support.editor_texts import ENCODINGS, texts, to_offset, to_position, units

UTF8, UTF16, UTF32 = (kind.value for kind in PositionEncodingKind)


@pytest.mark.parametrize(
    ("encoding", "character", "index"),
    [
        (UTF8, 1, 1),
        (UTF8, 5, 2),
        (UTF8, 3, 1),  # inside the astral character, which means its start
        (UTF8, 7, 3),
        (UTF16, 3, 2),
        (UTF16, 2, 1),  # between the halves of a surrogate pair, which means its start
        (UTF16, 4, 3),
        (UTF32, 2, 2),
        (UTF32, 3, 3),
    ],
)
def test_a_character_offset_counts_the_units_of_the_encoding(encoding, character, index) -> None:
    assert index_in_line("a😀é\r\n", character, encoding) == index


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_an_offset_beyond_the_line_means_its_end_before_the_line_break(encoding) -> None:
    assert index_in_line("ab\r\n", 99, encoding) == 2
    assert index_in_line("é\n", 99, encoding) == 1
    assert index_in_line("", 99, encoding) == 0


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_line_beyond_the_document_means_its_end(encoding) -> None:
    assert to_offset(["a\n", "b"], Position(line=9, character=0), encoding) == 3


def test_an_empty_document_has_one_position() -> None:
    assert to_position(document_lines(""), 0, UTF16) == Position(line=0, character=0)


def test_only_the_line_breaks_of_the_protocol_break_lines() -> None:
    lines = document_lines("a\fb\x85c\u2028d\ve\rf\r\ng\n")
    assert lines == ["a\fb\x85c\u2028d\ve\r", "f\r\n", "g\n", ""]


@given(texts, st.sampled_from(ENCODINGS), st.data())
def test_an_offset_survives_conversion_to_a_position_and_back(text, encoding, data) -> None:
    offset = data.draw(st.integers(0, len(text)))
    if text[offset - 1 : offset + 1] == "\r\n" and offset:
        return  # no position exists between the two characters
    lines = document_lines(text)
    assert to_offset(lines, to_position(lines, offset, encoding), encoding) == offset


@given(texts, st.sampled_from(ENCODINGS))
def test_position_units_of_a_line_equal_those_of_its_encoded_text(text, encoding) -> None:
    for line in document_lines(text):
        for index in range(len(line) + 1):
            assert units_in_line(line, index, encoding) == units(line[:index], encoding)
