from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lsprotocol.types import Position, Range

from indwell.lsp.line_blocks import LineBlocks
from indwell.lsp.positions import to_offset, to_position
from indwell.workspace.lines import document_lines
from support.editor_texts import ENCODINGS, changed, ranges, texts

sizes = st.integers(1, 6)


def at(line: int, character: int, end_line: int, end_character: int) -> Range:
    return Range(
        start=Position(line=line, character=character),
        end=Position(line=end_line, character=end_character),
    )


def check(kept: LineBlocks, text: str) -> None:
    """All that the blocks say is true of the text."""
    lines = document_lines(text)
    assert (kept.text, "".join(kept.blocks), kept.n_lines) == (text, text, len(lines))
    assert [kept.line(number) for number in range(len(lines))] == lines
    for left, right in zip(kept.blocks, kept.blocks[1:], strict=False):
        assert left.endswith(("\r", "\n"))  # blocks are whole lines
        assert right
        assert not (left.endswith("\r") and right.startswith("\n"))


@given(
    texts,
    sizes,
    st.lists(st.tuples(ranges, texts), max_size=6),
    st.sampled_from(ENCODINGS),
)
@example("a\rb", 1, [(at(1, 0, 1, 0), "\n")], "utf-16")
@example("a\r\nb", 1, [(at(0, 1, 0, 1), "\r")], "utf-16")
@example("a\nb\nc\n", 1, [(at(1, 0, 9, 0), "")], "utf-8")
def test_any_changes_give_what_they_give_on_the_whole_text(text, size, steps, encoding) -> None:
    kept = LineBlocks(text, size=size)
    check(kept, text)
    for range_, new in steps:
        kept.replace(
            (range_.start.line, range_.start.character),
            (range_.end.line, range_.end.character),
            new,
            encoding,
        )
        text = changed(text, range_, new, encoding)
        check(kept, text)


@given(texts, sizes, st.sampled_from(ENCODINGS), st.data())
def test_positions_and_offsets_are_those_of_the_whole_text(text, size, encoding, data) -> None:
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
    assert 20 < len(before) < 60
    kept.replace((40_000, 0), (40_000, 3), "ROW", "utf-16")
    assert kept.line(40_000) == "ROW" + line.format(40_000)[3:]
    # Every other block is the very same object.
    assert sum(old is not new for old, new in zip(before, kept.blocks, strict=True)) == 1
    assert kept.text == text.replace(line.format(40_000), "ROW" + line.format(40_000)[3:])


def test_the_whole_text_is_put_together_once() -> None:
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


def test_a_block_that_grows_is_cut() -> None:
    kept = LineBlocks("")
    for number in range(300):
        kept.replace((number, 0), (number, 0), "x" * 500 + "\n", "utf-16")
    assert kept.n_lines == 301
    assert max(map(len, kept.blocks)) < 50_000


def test_two_halves_of_a_character_that_meet_become_one() -> None:
    kept = LineBlocks("a\ud83db")
    kept.replace((0, 2), (0, 2), "\ude00", "utf-16")
    assert kept.text == "a😀b"
    kept = LineBlocks("a\ud83dx\ude00b")
    kept.replace((0, 2), (0, 3), "", "utf-16")
    assert kept.text == "a😀b"
