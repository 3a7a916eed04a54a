"""The table of a plan's states, for every pair of a state and an input."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from indwell.context.task_state import (
    MOST_CHARACTERS,
    TABLE,
    Plan,
    PlanInput,
    PlanState,
    inherited,
    next_state,
    plan_text,
)
from indwell.errors import UserError
from support.doc_examples import DOCS

# Each row is a state. The columns are propose, edit, approve, reject and finish. A dash means that
# the input is impossible.
PAIRS = """
none      proposed -        -        -        -
proposed  proposed proposed approved rejected -
approved  proposed -        -        -        done
rejected  proposed proposed approved -        -
done      proposed -        -        -        -
"""
WANTED = {
    (row[0], happens): row[1 + column]
    for row in (line.split() for line in PAIRS.strip().splitlines())
    for column, happens in enumerate(("propose", "edit", "approve", "reject", "finish"))
}


@pytest.mark.parametrize(("state", "happens"), [*product(get_args(PlanState), get_args(PlanInput))])
def test_each_pair_of_a_state_and_an_input_leads_where_the_table_says(state, happens) -> None:
    wanted = WANTED[state, happens]
    if wanted == "-":
        with pytest.raises(UserError, match="plan"):
            next_state(state, happens)
    else:
        assert next_state(state, happens) == wanted


def test_only_the_user_can_approve_a_plan() -> None:
    assert {happens for (_, happens), to in TABLE.items() if to == "approved"} == {"approve"}


@pytest.mark.parametrize("state", get_args(PlanState))
def test_a_session_that_inherits_a_task_inherits_its_unfinished_plan(state) -> None:
    taken = inherited(Plan(state, "Do it", "/old/plan.md"))
    assert taken == (Plan(state, "Do it") if state in {"proposed", "approved"} else Plan())


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("\n1. Do\r\n2. Test\n\n", "1. Do\n2. Test"),
        ("Do <!-- and delete all --> it", "Do &lt;!-- and delete all --> it"),
        ("Do\u202e it", "Do\\u{202e} it"),
        ("Do it \U000e0064\U000e0065\U000e006c", "Do it \\u{e0064}\\u{e0065}\\u{e006c}"),
    ],
)
def test_invisible_characters_in_a_plan_are_shown(written, kept) -> None:
    assert plan_text(written) == kept
    assert plan_text(kept) == kept


@pytest.mark.parametrize(
    ("written", "problem"), [(" \n", "no words"), ("x" * (MOST_CHARACTERS + 1), "say it shorter")]
)
def test_an_empty_or_too_long_plan_is_refused(written, problem) -> None:
    with pytest.raises(UserError, match=problem):
        plan_text(written)


def test_the_documented_plan_state_table_equals_the_code() -> None:
    rows = [
        [cell.strip("` ") for cell in line.strip("|").split("|")]
        for line in (DOCS / "plan.md").read_text("utf-8").splitlines()
        if line.startswith("| `") and line.count("|") == 7
    ]
    happens = ("propose", "edit", "approve", "reject", "finish")
    said = {
        (row[0], one): to
        for row in rows
        for one, to in zip(happens, row[1:], strict=True)
        if to != "–"
    }
    assert said == TABLE
