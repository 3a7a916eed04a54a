"""The effect of an edit on problems, compared by lines that the edit moved."""

from __future__ import annotations

import random
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.context.attachments import Problem
from indwell.workspace.problems.difference import (
    MOST,
    SAME,
    UNKNOWN,
    ProblemDifference,
    counted,
    difference,
    in_changed_lines,
    line_map,
)

LINES = [f"line {number}\n" for number in range(1, 21)]
TEXT = "".join(LINES)
problems = st.lists(
    st.builds(
        Problem,
        st.integers(1, 20),
        st.sampled_from(["error", "warning", "hint", "information"]),
        st.sampled_from(["bad", "worse", "bad since line 3", "bad since line 7"]),
        st.sampled_from(["ruff", "mypy", "indwell"]),
        st.sampled_from(["", "E1"]),
    ),
    max_size=12,
)
texts = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "d"]), max_size=20).map("".join)


def error(line: int, message: str = "bad") -> Problem:
    return Problem(line, "error", message, "mypy", "x")


def edited(start: int, stop: int, *new: str) -> str:
    """Return ``TEXT`` with lines ``start`` to ``stop`` (1-based, exclusive) replaced."""
    return "".join([*LINES[: start - 1], *new, *LINES[stop - 1 :]])


def test_a_problem_whose_line_was_moved_is_not_new() -> None:
    edits = line_map(TEXT, edited(3, 3, "new\n", "new too\n"))
    assert difference([error(2), error(5)], [error(2), error(7)], edits) == ProblemDifference(
        moved=((error(5), error(7)),)
    )


def test_the_same_message_on_another_line_is_another_problem() -> None:
    edits = line_map(TEXT, edited(15, 16, "totl\n"))
    assert difference([error(2)], [error(2), error(15)], edits) == ProblemDifference(
        new=(error(15),)
    )


def test_a_problem_on_a_rewritten_line_matches_the_nearest_equal_new_problem() -> None:
    edits = line_map(TEXT, edited(5, 7, "x\n", "y\n", "z\n"))
    found = difference([error(6)], [error(7)], edits)
    assert found == ProblemDifference(moved=((error(6), error(7)),))
    assert difference([error(6)], [error(15)], edits) == ProblemDifference(
        (error(15),), (error(6),)
    )


def test_a_checker_may_report_a_position_a_few_lines_away() -> None:
    assert difference([error(6)], [error(8)]).new == ()
    assert difference([error(6)], [error(12)]).new == (error(12),)


def test_without_the_texts_every_line_may_have_moved() -> None:
    assert difference([error(6)], [error(19)], UNKNOWN).new == ()


def test_numbers_of_other_lines_in_a_message_may_change() -> None:
    before, after = error(9, "already defined on line 3"), error(9, "already defined on line 5")
    assert difference([before], [after]) == ProblemDifference()


def test_a_problem_with_another_severity_is_new() -> None:
    warning = msgspec.structs.replace(error(1), severity="warning")
    assert difference([warning], [error(1)]) == ProblemDifference((error(1),), (warning,))


def test_errors_come_before_warnings_and_hints_and_indwells_own_hints_never_count() -> None:
    warning = Problem(1, "warning", "w")
    ignored = [Problem(1, "hint", "h"), Problem(1, "information", "i")]
    ours = [Problem(1, "error", "o", "indwell"), Problem(1, "error", "o", "Indwell review")]
    assert difference([], [*ignored, warning, *ours, error(9)]).new == (error(9), warning)


def test_two_equal_problems_count_as_two() -> None:
    assert difference([error(1)], [error(1), error(1)]).new == (error(1),)
    assert difference([error(1), error(1)], [error(1)]).gone == (error(1),)


def test_without_a_baseline_only_changed_lines_count() -> None:
    edits = line_map(TEXT, edited(5, 6, "new\n", "new too\n"))
    found = in_changed_lines([error(4), error(5), error(6), error(7)], edits)
    assert found == (error(5), error(6))
    cut = line_map(TEXT, edited(5, 8))
    assert in_changed_lines([error(3), error(4), error(5), error(6)], cut) == (error(4), error(5))


def test_thousands_of_problems_are_compared_fast() -> None:
    before = [error(line) for line in range(1, 3 * MOST)]
    after = [error(line + 50_000) for line in range(1, 3 * MOST)]
    begun = time.process_time()
    found = difference(before, after, UNKNOWN)
    assert time.process_time() - begun < 5
    assert found.new == ()


@given(problems, texts)
def test_equal_problem_lists_have_no_difference(some: list[Problem], text: str) -> None:
    assert difference(some, some) == ProblemDifference()
    assert difference(some, some, line_map(text, text)) == ProblemDifference()


@given(problems, st.integers(1, 21), st.integers(0, 5))
def test_lines_inserted_above_move_problems_without_new_problems(
    some: list[Problem], at: int, n_lines: int
) -> None:
    edits = line_map(TEXT, edited(at, at, *["new\n"] * n_lines))
    moved = [
        msgspec.structs.replace(one, line=one.line + n_lines * (one.line >= at)) for one in some
    ]
    random.Random(1).shuffle(moved)
    found = difference(some, moved, edits)
    assert (found.new, found.gone) == ((), ())
    assert len(found.moved) == sum(one.line >= at for one in counted(some)) * bool(n_lines)


@given(problems, problems, texts, texts)
def test_new_gone_and_unchanged_problems_add_up(
    before: list[Problem], after: list[Problem], old: str, new: str
) -> None:
    for edits in (SAME, UNKNOWN, line_map(old, new)):
        found = difference(before, after, edits)
        n_before, n_after = len(counted(before)), len(counted(after))
        assert len(found.new) - len(found.gone) == n_after - n_before
        assert set(found.new) <= set(after)
        assert set(found.gone) <= set(before)
        severities = [one.severity for one in found.new]
        assert severities == sorted(severities)


@given(texts, texts)
def test_the_line_map_finds_each_unchanged_line(old: str, new: str) -> None:
    edits = line_map(old, new)
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    places = []
    for number, text in enumerate(before, 1):
        line, stands = edits.moved(number)
        if stands:
            assert after[line - 1] == text
            assert not edits.is_new(line)
            places.append(line)
    assert places == sorted(set(places))
    n_new = sum(edits.is_new(line) for line in range(1, len(after) + 1))
    assert n_new + len(places) == len(after)


@pytest.mark.parametrize(("before", "after"), [(None, "a\nb\n"), ("", "a\nb\n")])
def test_every_line_of_a_new_file_is_new(before: str | None, after: str) -> None:
    assert all(line_map(before, after).is_new(line) for line in (1, 2))
