"""Replays recorded sessions: each request has the user's text, the task and finished requests.

``tests/faults/recorded_words.py`` replays more sessions.
"""

from __future__ import annotations

from collections import Counter

import pytest

from indwell.context.compaction.presets import PRESETS
from support.recorded import foreign_sessions
from support.recorded_checks import LOOKED_AT, violations


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_no_request_of_a_recorded_session_has_lost_user_text_or_its_task(preset: str) -> None:
    found: Counter[str] = Counter()
    for session in foreign_sessions("entire", first=1, every=64):
        for window in (32_000, 64_000) if preset == "default" else (32_000,):
            found += violations(session, preset, window)
    assert {what: n for what, n in found.items() if n and what not in LOOKED_AT} == {}
    assert found["requests"] > 200
    if preset != "none":
        assert found["compactions"] > 5


def test_user_text_that_does_not_fit_a_small_window_is_kept_in_a_file() -> None:
    (session, *_) = foreign_sessions("entire", first=1, every=64)
    found = violations(session, "default", 16_000)
    assert found["requests with words in a file"] > 5
    assert (found["words lost"], found["task hidden"], found["too large"]) == (0, 0, 0)
