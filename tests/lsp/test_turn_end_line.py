"""The end of a turn in one line: a shortened line still has the verification."""

from __future__ import annotations

import pytest

from indwell.agent.core import events
from indwell.agent.core.events import FileChanged
from indwell.lsp.editor.progress import SENTENCE_LIMIT, full_summary, summary
from indwell.messages import Usage

WHY = "not verified: the editor showed no problems of shop/invoice.py within 3 seconds"
BRIEF = "done · invoice.py +2 −1 · 9,874 tokens"
PASSED = "`python -m unittest` passed after the last edit"


def ended(
    verified: str, *, cost: float | None = 0.01324, to_review: int = 2
) -> events.TurnFinished:
    return events.TurnFinished(
        1,
        "done",
        "",
        "answer",
        "",
        rounds=5,
        usage=Usage(input=9_800, output=74),
        cost=cost,
        seconds=1.0,
        changes=(FileChanged("shop/invoice.py", 2, 1),),
        to_review=to_review,
        verified=verified,
    )


@pytest.mark.parametrize(
    ("end", "line"),
    [
        (
            ended("checked", to_review=1),
            "done · shop/invoice.py +2 −1 · 1 change to review · 9,874 tokens, $0.0132 · checked",
        ),
        (
            ended("not verified: no check", to_review=12),
            "done · shop/invoice.py +2 −1 · 9,874 tokens, $0.0132 · not verified: no check",
        ),
        (
            ended(WHY),
            f"{BRIEF} · not verified: the editor showed no problems of …",
        ),
        (
            ended(f"{PASSED}; ruff and basedpyright have not looked at shop/invoice.py"),
            f"{BRIEF} · {PASSED}",
        ),
        (
            ended(f"verified by ruff; {PASSED}; 1 file not verified; basedpyright was slow"),
            f"{BRIEF} · 1 file not verified; verified by ruff; `python …",
        ),
        (
            ended(f"`uv run pytest {'tests/shop/' * 5}` passed after the last edit"),
            f"{BRIEF} · `uv run pytest tests/shop/tests/shop/te…` passed",
        ),
        (
            ended("`pytest tests/shop -k subtotal` and `mypy --strict shop` passed"),
            f"{BRIEF} · 2 checks passed",
        ),
        (
            ended("`uv run pytest tests -k x` and `mypy shop/a.py` passed after the last edit"),
            "done · +2 −1 · 9,874 tokens · `uv run pytest tests -k x` and `mypy shop/a.py` passed",
        ),
        (
            ended("checked with " + "pytest -q unit " * 9, cost=None),
            f"{BRIEF} · checked with {'pytest -q unit ' * 2}…",
        ),
    ],
)
def test_a_line_that_is_too_long_keeps_the_substance_of_the_verdict(end, line) -> None:
    assert summary(end) == line
    assert len(line) <= SENTENCE_LIMIT


def test_the_full_summary_of_a_turn_has_every_part() -> None:
    assert full_summary(ended(WHY)) == (
        "done · shop/invoice.py +2 −1 · 2 changes to review in all · "
        f"5 rounds, 9,874 tokens, $0.0132 · {WHY}"
    )
