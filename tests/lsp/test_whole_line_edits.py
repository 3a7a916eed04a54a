"""An edit has the same effect in every editor, even if the editor's column units are unknown."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from indwell.lsp.workspace.buffer_edits import whole_lines
from indwell.workspace.comparing.diff import TextEdit

TEXTS = st.text(alphabet="ab é🙂\r\n", max_size=40)


def applied(text: str, edits: tuple[TextEdit, ...]) -> str:
    for start, stop, new in reversed(edits):
        text = text[:start] + new + text[stop:]
    return text


@given(TEXTS, st.lists(st.tuples(st.integers(0, 40), st.text("xé🙂\n", max_size=3)), max_size=6))
def test_edits_widened_to_whole_lines_make_the_same_change(
    text: str, cuts: list[tuple[int, str]]
) -> None:
    places = sorted(min(at, len(text)) for at, _ in cuts)
    pairs = zip(places[::2], places[1::2], strict=False)
    made = tuple(
        TextEdit(start, stop, new) for (start, stop), (_, new) in zip(pairs, cuts, strict=False)
    )
    edits = tuple(
        one for number, one in enumerate(made) if number == 0 or one.start > made[number - 1].stop
    )
    wide = whole_lines(text, edits)
    assert applied(text, wide) == applied(text, edits)
    assert all(one.stop <= other.start for one, other in pairwise(wide))
    for one in wide:
        for at in (one.start, one.stop):
            line = text[: at - 1 if text[at - 1 : at + 1] == "\r\n" else at]
            line = line.replace("\r", "\n").rsplit("\n", 1)[-1]
            assert line.isascii() or at == len(text)


def test_text_between_two_edits_of_a_line_is_kept() -> None:
    edits = (TextEdit(0, 1, ""), TextEdit(2, 2, "x"))
    assert applied("aé\n", whole_lines("aé\n", edits)) == "éx\n"


def test_edits_of_ascii_lines_are_not_widened_to_whole_lines() -> None:
    edit = TextEdit(4, 5, "x")
    assert whole_lines("abc defg\n", (edit,)) == (edit,)
    assert whole_lines("🙂\nabc\n", (edit,)) == (edit,)
