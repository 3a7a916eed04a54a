from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.lsp.workspace.edits import LONG, is_rewritten, joined
from indwell.workspace.comparing.diff import TextEdit, apply_edits, line_edits


@given(
    st.lists(st.sampled_from(["a\n", "b\n", "c\n"]), max_size=30).map("".join),
    st.lists(st.sampled_from(["a\n", "b\n", "c\n"]), max_size=30).map("".join),
    st.integers(1, 5),
)
def test_joining_text_edits_does_not_change_their_result(before, after, most) -> None:
    fewer = joined(before, line_edits(before, after), most)
    assert len(fewer) <= most
    assert apply_edits(before, fewer) == after


def test_the_closest_text_edits_are_joined_first() -> None:
    before = "0123456789" * 10
    edits = [TextEdit(0, 1, "a"), TextEdit(3, 4, "b"), TextEdit(50, 51, "c"), TextEdit(90, 91, "")]
    assert joined(before, edits, 3) == (TextEdit(0, 4, "a12b"), *edits[2:])
    assert joined(before, edits, 4) == tuple(edits)


@pytest.mark.parametrize(("how", "expected"), [("all", True), ("one line", False), ("half", False)])
def test_edt_18_a_completely_rewritten_long_text_is_not_compared_line_by_line(
    how, expected
) -> None:
    random = Random(1)
    lines = [f"{random.random()} old\n" for _ in range(LONG // 20)]
    new = [f"{random.random()} new\n" for _ in lines]
    match how:
        case "one line":
            new = [*lines[:-1], new[-1]]
        case "half":
            new = [*lines[: len(lines) // 2], *new[len(lines) // 2 :]]
    assert is_rewritten("".join(lines), "".join(new)) is expected


def test_short_texts_and_texts_without_words_are_compared() -> None:
    assert not is_rewritten("old text of some words\n", "new\n")
    assert not is_rewritten("\n" * LONG, "x\n" * LONG)
