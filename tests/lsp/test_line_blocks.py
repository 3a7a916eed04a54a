from __future__ import annotations

from time import process_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lsprotocol.types import Position, Range

from indwell.lsp.workspace.line_blocks import BLOCK, LineBlocks
from indwell.workspace.text import document_lines
from support.editor_texts import ENCODINGS, changed, ranges, texts, to_offset, to_position

sizes = st.integers(1, 6)


def at(line: int, character: int, end_line: int, end_character: int) -> Range:
    return Range(
        start=Position(line=line, character=character),
        end=Position(line=end_line, character=end_character),
    )


def is_half(character: str, first: str) -> bool:
    return first <= character < chr(ord(first) + 0x400)


def check(kept: LineBlocks, text: str) -> None:
    """Check that the blocks describe the text correctly."""
    lines = document_lines(text)
    assert (kept.text, "".join(kept.blocks), kept.n_lines) == (text, text, len(lines))
    assert [kept.line(number) for number in range(len(lines))] == lines
    for left, right in zip(kept.blocks, kept.blocks[1:], strict=False):
        assert left
        assert right
        assert not (left.endswith("\r") and right.startswith("\n"))
        assert not (is_half(left[-1], "\ud800") and is_half(right[0], "\udc00"))


@given(
    texts,
    sizes,
    st.lists(st.tuples(ranges, texts), max_size=6),
    st.sampled_from(ENCODINGS),
)
@example("a\rb", 1, [(at(1, 0, 1, 0), "\n")], "utf-16")
@example("a\r\nb", 1, [(at(0, 1, 0, 1), "\r")], "utf-16")
@example("a\nb\nc\n", 1, [(at(1, 0, 9, 0), "")], "utf-8")
def test_applying_partial_changes_equals_editing_the_whole_text(
    text, size, steps, encoding
) -> None:
    kept = LineBlocks(text, size=size)
    check(kept, text)
    assert max(map(len, kept.blocks)) <= 2 * size + 1
    for range_, new in steps:
        kept.replace(
            (range_.start.line, range_.start.character),
            (range_.end.line, range_.end.character),
            new,
            encoding,
        )
        text = changed(text, range_, new, encoding)
        check(kept, text)
        assert max(map(len, kept.blocks)) <= 2 * size + 1


@given(texts, sizes, st.sampled_from(ENCODINGS), st.data())
def test_line_blocks_convert_positions_and_offsets_like_the_whole_text(
    text, size, encoding, data
) -> None:
    kept, lines = LineBlocks(text, size=size), document_lines(text)
    offset = data.draw(st.integers(0, len(text)))
    expected = to_position(lines, offset, encoding)
    assert kept.position(offset, encoding) == (expected.line, expected.character)
    place = data.draw(ranges).start
    assert kept.offset(place.line, place.character, encoding) == to_offset(lines, place, encoding)


@pytest.mark.parametrize("line", ["row {}\n", "row {}\r\n", "row {}\r", "réw {}\n"])
def test_a_change_of_a_large_text_touches_one_block(line) -> None:
    text = "".join(line.format(number) for number in range(50_000))
    kept = LineBlocks(text)
    before = kept.blocks
    assert 80 < len(before) < 200
    kept.replace((40_000, 0), (40_000, 3), "ROW", "utf-16")
    assert kept.line(40_000) == "ROW" + line.format(40_000)[3:]
    # Every other block is the same object.
    assert sum(old is not new for old, new in zip(before, kept.blocks, strict=True)) == 1
    assert kept.text == text.replace(line.format(40_000), "ROW" + line.format(40_000)[3:])


def test_the_whole_text_is_joined_only_once() -> None:
    kept = LineBlocks("a\n" * 50_000)
    kept.replace((7, 0), (7, 1), "b", "utf-16")
    assert kept.text is kept.text


def test_many_small_changes_leave_no_small_blocks_behind() -> None:
    kept = LineBlocks("line\n" * 10_000)
    n_blocks = len(kept.blocks)
    for number in range(2_000):
        kept.replace((number * 3, 0), (number * 3 + 2, 0), "", "utf-16")
        kept.replace((number * 3, 0), (number * 3, 0), "x\ny\n", "utf-16")
    assert kept.n_lines == 10_001
    assert len(kept.blocks) <= n_blocks + 1


def test_a_block_that_becomes_too_long_is_split() -> None:
    kept = LineBlocks("")
    for number in range(300):
        kept.replace((number, 0), (number, 0), "x" * 500 + "\n", "utf-16")
    assert kept.n_lines == 301
    assert max(map(len, kept.blocks)) < 50_000


def test_two_adjacent_surrogates_become_one_character() -> None:
    kept = LineBlocks("a\ud83db")
    kept.replace((0, 2), (0, 2), "\ude00", "utf-16")
    assert kept.text == "a😀b"
    kept = LineBlocks("a\ud83dx\ude00b")
    kept.replace((0, 2), (0, 3), "", "utf-16")
    assert kept.text == "a😀b"


@given(st.text(alphabet="ab€😀", min_size=40, max_size=80), st.sampled_from(ENCODINGS), st.data())
def test_a_line_of_many_blocks_has_the_positions_of_a_line(line, encoding, data) -> None:
    text = f"first\n{line}\r\nlast"
    kept, lines = LineBlocks(text, size=4), document_lines(text)
    check(kept, text)
    for offset in range(len(text) + 1):
        expected = to_position(lines, offset, encoding)
        assert kept.position(offset, encoding) == (expected.line, expected.character)
    for character in (0, *data.draw(st.lists(st.integers(0, 200), max_size=9)), (1 << 31) - 1):
        place = Position(line=1, character=character)
        assert kept.offset(1, character, encoding) == to_offset(lines, place, encoding)


@pytest.mark.parametrize("character", ["a", "é", "😀"])
def test_a_change_within_a_line_of_a_megabyte_touches_one_block(character) -> None:
    text = character * 1_000_000
    kept = LineBlocks(text)
    before = kept.blocks
    assert max(map(len, before)) <= 2 * BLOCK
    at = 500_000 * len(character.encode("utf-16-le")) // 2
    kept.replace((0, at), (0, at), "x", "utf-16")
    assert sum(old is not new for old, new in zip(before, kept.blocks, strict=True)) == 1
    assert kept.text == f"{character * 500_000}x{character * 500_000}"


def test_a_thousand_cursors_in_a_line_of_five_megabytes_are_fast() -> None:
    kept = LineBlocks("a" * 5_000_000)
    started = process_time()
    for number in range(1_000):
        kept.replace((0, number * 10), (0, number * 10), "x", "utf-16")
    # the test takes 0.05 s; without blocks it took 2.2 s and more
    assert process_time() - started < 0.6
    assert kept.text[:22] == "xaaaaaaaaaxaaaaaaaaaxa"


def test_half_of_a_character_is_never_cut_off_by_a_block() -> None:
    kept = LineBlocks("a" * 8, size=4)
    kept.replace((0, 4), (0, 4), "\ud83d", "utf-16")
    kept.replace((0, 5), (0, 5), "\ude00", "utf-16")
    check(kept, "aaaa😀aaaa")
