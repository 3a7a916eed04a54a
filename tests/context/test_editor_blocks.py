from __future__ import annotations

import msgspec
import pytest
from inline_snapshot import snapshot

from indwell.context.attachments import (
    DIAGNOSTICS_LIMIT,
    MESSAGE_LIMIT,
    SELECTION_LIMIT,
    OpenedFile,
    Problem,
    Selection,
    bounded_text,
    opened_words,
    problem_lines,
    selection_words,
)
from indwell.context.injections import inject

SELECTION = Selection("lib/shipping.py", 9, 10, "def ships_free(amount):\n    return limit")


def test_a_selection_block_has_path_lines_exact_text_state_and_problems() -> None:
    problems = (Problem(10, "error", "undefined  name\n'limit'", source="pyflakes", code="F821"),)
    selection = msgspec.structs.replace(SELECTION, unsaved=True, problems=problems)
    assert inject("ide_selection", selection_words(selection), turn=1).text == snapshot("""\
<ide_selection>
The user selected lines 9-10 of lib/shipping.py (not saved yet):
def ships_free(amount):
    return limit
Problems reported there:
- line 10: error: undefined name 'limit' [pyflakes F821]
</ide_selection>""")


def test_the_text_of_a_selection_names_a_single_line_and_an_outdated_state() -> None:
    selection = Selection("a.py", 3, 3, "x = 1", note="marked 40 s ago, perhaps no longer")
    assert selection_words(selection) == snapshot("""\
The user selected line 3 of a.py (marked 40 s ago, perhaps no longer):
x = 1""")


def test_an_opened_file_block_has_name_language_size_and_state() -> None:
    opened = OpenedFile("lib/shipping.py", "python", 41_200, unsaved=True)
    assert inject("ide_opened_file", opened_words(opened), turn=1).text == snapshot("""\
<ide_opened_file>
The user looks at lib/shipping.py (python, 41,200 bytes, not saved yet). It may or may not matter for the task.
</ide_opened_file>""")  # noqa: E501 - the exact words
    assert opened_words(OpenedFile("notes", "", 0)) == snapshot(
        "The user looks at notes (0 bytes). It may or may not matter for the task."
    )


def test_an_opened_file_has_no_field_that_could_hold_its_contents() -> None:
    assert OpenedFile.__struct_fields__ == ("path", "language", "size", "unsaved")


def check_bounded(text: str, *, first_line: int, last_line: int) -> None:
    """Check that a text has head, hint and tail, and that the hint names the omitted lines."""
    selection = Selection("big.py", first_line, last_line, text)
    bounded = bounded_text(selection)
    head, _, rest = bounded.partition("\n[… ")
    hint, _, tail = rest.partition(" …]\n")
    assert (text.startswith(head), text.endswith(tail)) == (True, True)
    left_out = text[len(head) : len(text) - len(tail)]
    from_line = first_line + head.count("\n")
    to_line = first_line + (head + left_out).count("\n")
    assert hint == (
        f"{len(left_out):,} characters left out here; read_file big.py from line {from_line} "
        f"to {to_line} has them"
    )
    assert len(bounded) < SELECTION_LIMIT


LINES = [f"line {number}" for number in range(1, 3_001)]


@pytest.mark.parametrize(
    ("text", "first_line", "last_line"),
    [
        ("\n".join(LINES), 1, 3_000),
        ("\n".join(LINES) + "\n", 1, 3_000),  # editors select whole lines
        ("\r\n".join(LINES) + "\r\n", 101, 3_100),
        ("x" * 50_000, 7, 7),
        ("x" * 50_000 + "\n", 7, 7),
        ("\n" * 20_000, 1, 20_000),
    ],
)
def test_a_long_selection_names_the_place_of_the_omitted_lines(
    text: str, first_line: int, last_line: int
) -> None:
    check_bounded(text, first_line=first_line, last_line=last_line)


def test_a_selection_within_the_limit_is_sent_whole() -> None:
    text = "x" * SELECTION_LIMIT
    assert bounded_text(Selection("a.py", 1, 1, text)) == text


def test_the_number_and_length_of_problems_is_limited() -> None:
    many = tuple(Problem(number, "error", "e" * 10_000) for number in range(1, 51))
    lines = problem_lines(many).split("\n")
    assert len(lines) == DIAGNOSTICS_LIMIT + 1
    assert lines[0] == f"- line 1: error: {'e' * MESSAGE_LIMIT} …"
    assert lines[-1] == "- and 30 more"
