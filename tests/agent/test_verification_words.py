"""The verification text of a turn without new errors."""

from __future__ import annotations

import pytest

from indwell.agent.features.checks.new_problems import VerifiedState, standing_words


@pytest.mark.parametrize(
    ("standing", "words"),
    [
        (VerifiedState(), "not verified"),
        (VerifiedState(n_left=2, why=("`x` died",)), "not verified: `x` died"),
        (VerifiedState(verified=("an editor",)), "verified by an editor"),
        (VerifiedState(checked=("`a`", "`b`")), "checked with `a` and `b` (no new errors)"),
        (VerifiedState(passed=("`true`",), why=("`x` died",)), "`true` passed; `x` died"),
        (
            VerifiedState(("e",), ("`a`",), ("`b`",), n_left=1, n_others=2, is_sure=False),
            (
                "verified by e; checked with `a` (no new errors); `b` passed; "
                "only changed lines could be compared; 1 file not verified; "
                "errors in 2 files changed meanwhile are not counted"
            ),
        ),
        (VerifiedState(why=("1", "2", "3", "4")), "not verified: 1; 2; 3"),
    ],
)
def test_only_files_with_a_report_are_verified(standing: VerifiedState, words: str) -> None:
    assert standing_words(standing) == words
