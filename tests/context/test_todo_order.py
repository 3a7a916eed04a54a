"""Steps with an order: valid lists, and the steps that a step waits for."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from indwell.context.task_state import (
    TodoItem,
    TodoState,
    list_words,
    open_before,
    problem_of,
    shown_lines,
    waits_words,
)
from support.doc_examples import examples

READ, FIX = TodoItem("Read", "done"), TodoItem("Fix", "doing", (1,))
TEST = TodoItem("Test", "open", (1, 2))


@pytest.mark.parametrize(("first", "second"), [*product(get_args(TodoState), repeat=2)])
def test_a_todo_step_starts_only_after_its_required_step_is_done(first, second) -> None:
    problem = problem_of([TodoItem("A", first), TodoItem("B", second, (1,))])
    may_be = second == "open" or first == "done"
    assert problem == (
        ""
        if may_be
        else f"step 2 is `{second}`, but it comes after 1, which is `{first}`; do that one first, "
        "or change `after`"
    )


@pytest.mark.parametrize(
    ("afters", "problem"),
    [
        ([(), (3,)], "step 2 comes after 3, and there is no such step; the list has 2"),
        ([(0,)], "step 1 comes after 0, and there is no such step; the list has 1"),
        ([(1,)], "step 1 comes after itself; leave that out"),
        ([(2,), (1,)], "the steps 1, 2 wait for each other"),
        ([(3,), (1,), (2,), ()], "the steps 1, 2, 3 wait for each other"),
        ([(2,), (), (1, 2)], ""),
        ([], ""),
    ],
)
def test_an_impossible_todo_order_is_reported_with_its_steps(afters, problem) -> None:
    found = problem_of([TodoItem("Do", "open", after) for after in afters])
    assert found.startswith(problem)
    assert bool(found) == bool(problem)


def test_a_todo_step_names_the_steps_that_it_waits_for() -> None:
    items = (READ, FIX, TEST)
    assert open_before(items, TEST) == (2,)
    assert [waits_words(items, one) for one in items] == ["", "", "waits for 2"]
    assert shown_lines(items) == ("1. [x] Read", "2. [~] Fix", "3. [ ] Test (waits for 2)")
    assert list_words(items).splitlines()[1:] == [
        "- [done] Read",
        "- [doing] Fix (after 1)",
        "- [open] Test (after 1, 2)",
    ]


def test_the_documented_todo_list_equals_the_shown_list() -> None:
    items = (
        TodoItem("Read the code", "done"),
        TodoItem("Mend the total", "doing", (1,)),
        TodoItem("Run the tests", "open", (2,)),
    )
    assert examples("plan.md", "text")[0].text.splitlines() == list(shown_lines(items))
