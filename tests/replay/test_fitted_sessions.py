"""The list of sessions that numbers of compaction were fitted or chosen on."""

from __future__ import annotations

from pathlib import Path

import msgspec

from indwell.context.compaction.digesting import line_choice
from indwell.replay.fitted_sessions import (
    FittedSessions,
    LeftOut,
    fingerprint,
    fitted_sessions,
    fold,
    numbers_print,
)
from indwell.sessions.imports import recorded_sessions
from support.replay_sessions import entries, record

RENEW = (
    "a number of compaction changed: run benchmarks/context_study/fitted.py with all agents and "
    "folds that were used"
)


def test_the_list_belongs_to_the_numbers_of_this_version() -> None:
    paths = (Path(line_choice.__file__), Path(line_choice.__file__).with_name("digest.py"))
    sources = [path.read_text("utf-8") for path in paths]
    assert fitted_sessions().numbers == numbers_print(sources), RENEW
    for old, new in (("0.65", "0.66"), ("LEAST_ROOM = 0.0", "LEAST_ROOM = 0.1")):
        changed = [source.replace(old, new) for source in sources]
        assert numbers_print(changed) != numbers_print(sources)


def test_a_renamed_recording_of_a_fitted_session_is_left_out() -> None:
    lines = (record("first", entries(9)) + record("renamed", entries(9))).encode().splitlines()
    first, renamed = recorded_sessions(lines)
    other = msgspec.structs.replace(renamed, id="other", messages=renamed.messages[2:])
    fitted = FittedSessions("", {first.id: fingerprint(first)})
    assert LeftOut(fitted=True).kept((first, renamed, other), fitted) == [other]
    assert LeftOut().kept((first, renamed, other), fitted) == [first, renamed, other]
    assert LeftOut(folds=(fold("first"),)).kept((first,), fitted) == []
