from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.workspace.encoding.decoding import nothing_declared
from indwell.workspace.large import ByteSplice, Large, LongLine, page_of
from indwell.workspace.line_index import index_of
from indwell.workspace.text import PIECE

PATH = Path("/w/a")


def over(data: bytes) -> Large:
    def read(offset: int, size: int) -> bytes:
        return data[offset : offset + size]

    return Large(PATH, read, index_of(read, len(data), nothing_declared))


def page(data: bytes, first: int = 0, n_lines: int = 10, total_b: int = 1_000) -> list[LongLine]:
    found = page_of(over(data), first, n_lines, line_b=20, total_b=total_b)
    return list(found.lines)


def test_a_page_contains_the_requested_lines() -> None:
    data = b"one\r\ntwo\rthree\n\nfive"
    assert page(data) == [LongLine(text) for text in ("one", "two", "three", "", "five")]
    assert page(data, first=2, n_lines=2) == [LongLine("three"), LongLine("")]
    assert page(data, first=5) == []
    assert page(b"") == []
    assert page(data, total_b=9) == [LongLine("one"), LongLine("two")]


def test_a_long_line_is_cut_between_characters() -> None:
    assert page(b"x" * 19 + "é and more\nshort".encode()) == [
        LongLine("x" * 19, more_b=12),
        LongLine("short"),
    ]
    assert page(b"x" * (3 * PIECE) + b"\nend") == [
        LongLine("x" * 20, 3 * PIECE - 19),
        LongLine("end"),
    ]


def test_a_page_deep_inside_a_large_file_begins_at_the_right_line() -> None:
    data = b"".join(b"line %d\n" % number for number in range(100_000))
    assert page(data, 99_998) == [LongLine("line 99998"), LongLine("line 99999")]
    assert page(data, 50_000, 1) == [LongLine("line 50000")]


def test_bytes_that_are_not_text_are_kept_and_reported() -> None:
    found = page_of(over("größe\n".encode() * 3 + b"a\xff\n"), 3, 1, line_b=20, total_b=99)
    assert (found.lines, found.n_lines) == ((LongLine("a\udcff"),), 4)
    assert found.notes == (
        "1 byte that is no utf-8 is shown as \\xNN; leave it out of edits, and it stays",
    )


SPLICES = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 40), st.binary(max_size=5)), max_size=4
)


@given(st.binary(max_size=40), st.lists(SPLICES, max_size=3))
def test_repeated_piecewise_edits_equal_edits_of_the_whole_file(
    data: bytes, rounds: list[list[tuple[int, int, bytes]]]
) -> None:
    large, whole = over(data), data
    for one_round in rounds:
        splices, at = [], 0
        for start, stop, new in sorted(one_round):
            begin = min(max(start, at), len(whole))
            at = min(max(begin, stop), len(whole))
            splices.append(ByteSplice(begin, at, new))
        large = large.spliced(splices)
        for splice in reversed(splices):
            whole = whole[: splice.start] + splice.data + whole[splice.stop :]
    assert (large.size_b, large.read(0, 1_000)) == (len(whole), whole)
    for at in range(len(whole)):
        assert large.read(at, 3) == whole[at : at + 3]


@given(st.integers(0, 6), st.integers(0, 4), st.booleans())
def test_a_match_on_the_border_of_two_chunks_is_found_once(shift, n_more, overlapping) -> None:
    data = b"x" * (PIECE - shift) + b"aba" + b"ba" * n_more + b"x" * 10
    pattern = re.compile(b"(?=(aba))" if overlapping else b"aba")
    expected = [range(found.start(), found.start() + 3) for found in pattern.finditer(data)]
    assert list(over(data).find(b"aba", overlapping=overlapping)) == expected
    assert list(over(data).find_lines(b"aba", overlapping=overlapping)) == expected


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_line_numbers_are_counted_for_any_line_ending(end: bytes) -> None:
    data = (b"a" + end) * PIECE
    size = 1 + len(end)
    wanted = [0, size, 7 * size, PIECE * size - 1]
    assert over(data).line_numbers(wanted) == (1, 2, 8, PIECE)


@pytest.mark.parametrize(
    ("data", "wanted", "around"),
    [
        (b"1\n2\n3\n4\nhere\n6\n7\n8\n9\n", b"here", b"2\n3\n4\nhere\n6\n7\n8\n"),
        (b"here", b"here", b"here"),
        (b"1\nhere\n", b"here\n", b"1\nhere\n"),
        (b"1\r\nhe\r\nre\r\n4", b"he\r\nre", b"1\r\nhe\r\nre\r\n4"),
        (b"1\n2\n3\n4\n5\nhere\n", b"here\n", b"3\n4\n5\nhere\n"),
    ],
)
def test_a_match_in_a_large_file_is_shown_with_surrounding_lines(
    data: bytes, wanted: bytes, around: bytes
) -> None:
    large = over(data)
    (place,) = large.find(wanted, overlapping=False)
    window = large.around(place)
    assert large.read(window.start, len(window)) == around


def test_a_match_in_a_long_line_is_shown_with_a_part_of_the_line() -> None:
    large = over("é".encode() * 50_000 + b"here" + "é".encode() * 50_000)
    window = large.around(range(100_000, 100_004))
    text = large.decoded(large.read(window.start, len(window)))
    assert text == "é" * 2_048 + "here" + "é" * 2_048


@pytest.mark.parametrize("tail", ["é", "日", "😀", "\udcff"])
def test_the_window_around_a_late_match_includes_the_last_character(tail: str) -> None:
    data = f"1\nhere {tail}".encode("utf-8", "surrogateescape")
    large = over(data)
    (place,) = large.find(b"here", overlapping=False)
    assert large.around(place) == range(len(data))
    assert large.around(range(len(data) - 1, len(data))) == range(len(data))


def test_a_match_of_half_a_line_end_does_not_count() -> None:
    for shift in range(4):
        large = over(b"x" * (PIECE - shift) + b"\r\nfoo\r\n")
        begin = PIECE - shift
        assert list(large.find(b"\nfoo", overlapping=True)) == []
        assert list(large.find(b"foo\r", overlapping=True)) == []
        assert list(large.find_lines(b"\nfoo\r", overlapping=True)) == [range(begin, begin + 7)]


@given(
    st.text("ab\r\n", max_size=12),
    st.text("ab\r\n", min_size=1, max_size=4),
    st.integers(0, 12),
)
def test_a_large_file_is_searched_for_text_with_any_line_ends(
    text: str, wanted: str, shift: int
) -> None:
    begin = PIECE - shift
    regex = "".join(
        "(?:\r\n|(?<!\r)\n|\r(?!\n))" if part[0] in "\r\n" else part[0]
        for part in re.finditer(r"\r\n|.", wanted, re.DOTALL)
    )
    data = b"x" * begin + text.encode()
    places = re.finditer(f"(?=({regex}))", text)
    expected = [range(begin + at.start(1), begin + at.end(1)) for at in places]
    assert list(over(data).find_lines(wanted.encode(), overlapping=True)) == expected


def test_a_search_for_many_line_ends_takes_as_long_as_any_other() -> None:
    large = over(b"\n" * (2 << 20))
    begun = time.process_time()
    assert list(large.find_lines(b"\r\n" * 4_000 + b"x", overlapping=True)) == []
    assert list(large.find(b"\n" * 4_000 + b"x", overlapping=True)) == []
    assert time.process_time() - begun < 1  # seconds; the earlier search took minutes


def test_a_large_file_is_read_in_chunks_so_that_a_search_can_be_stopped() -> None:
    data = b"a\r\n" * PIECE
    n_reads = 0

    def read(offset: int, size: int) -> bytes:
        nonlocal n_reads
        n_reads += 1
        assert size <= 2 * PIECE
        return data[offset : offset + size]

    large = Large(PATH, read, index_of(read, len(data), nothing_declared))
    n_reads = 0
    assert not list(large.find_lines(b"a\n" * 100 + b"b", overlapping=True))
    assert n_reads == 3


def test_the_line_ending_near_an_offset_is_the_next_line_ending() -> None:
    large = over(b"1\r" + b"x" * (PIECE - 2) + b"\r\n2\nend")
    end = PIECE + 4
    assert large.ending_near(0) == ("\r", 1)
    assert large.ending_near(2) == ("\r\n", PIECE)
    assert large.ending_near(end - 1) == ("\n", end - 1)
    assert large.ending_near(end) == ("\n", large.size_b)
    assert over(b"x").ending_near(1) == ("\n", 1)
    assert over(b"x\r\ny").ending_near(4) == ("\r\n", 4)
