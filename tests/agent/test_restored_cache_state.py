from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from indwell.agent.restore import recalled
from indwell.context.compaction.presets import PRESETS
from indwell.context.request.cache_health import Health, UsageFigures
from indwell.messages import Reply, Usage
from indwell.sessions.records import Forked, Prefixed, Spent
from support.session import START, a_world, asks, call, with_parts

AT = START.isoformat()
PROMPT = "word " * 3_000


def known(health: Health) -> Health:
    """Return the state without objects, as restored from a log."""
    last = health.last and msgspec.structs.replace(health.last, tokens=0)
    return msgspec.structs.replace(health, last=last)


@pytest.mark.parametrize("cached", [0, 3_000])
async def test_the_restored_cache_state_equals_that_of_the_session(
    tmp_path: Path, cached: int
) -> None:
    usage = Usage(input=4_000, cached=cached, output=7)
    reads = [asks(call("read_file", path="a.py"), usage=usage) for _ in range(3)]
    script = [
        *reads,
        Reply("ok", usage=Usage(input=4_100, cached=3_900, output=5)),
        Reply("ok", usage=Usage(input=9_000, output=5)),
        Reply("S" * 900, usage=Usage(input=4_300, output=30)),
        Reply("ok", usage=usage),
        Reply("ok", usage=Usage(input=7, reported=False)),
    ]
    async with a_world(tmp_path, script, files={"a.py": "x = 1\n" * 400}) as world:
        session = world.session
        await world.turn(PROMPT)
        await world.turn("again")
        with_parts(session, preset=PRESETS["regions-d"])
        await world.turn("/compact")
        await world.turn("and now")
        await world.turn("at last")
        records = await world.records()
        specs = session.conversation.tools
        told = recalled(
            (Prefixed(("You are a test.",), "", AT, specs), *records), session.parts.clock.now()
        )
        assert session.health.session.expected
        assert known(told.health) == known(session.health)
        assert told.calibration == session.conversation.calibration
        assert told.calibration.reported
        assert abs(told.answered_at - session.spending.answered_at) < timedelta(seconds=2)
        late = recalled(records, session.parts.clock.now() + timedelta(minutes=6))
        assert (late.health.last, late.health.session) == (None, session.health.session)


def test_a_log_without_requests_recalls_no_health_and_no_calibration() -> None:
    told = recalled((), START)
    assert (told.health, told.calibration.reported, told.answered_at) == (Health(), 0, None)


def test_costs_of_an_older_log_are_summed_up() -> None:
    spent = Spent(1, "m", Usage(input=10, output=2), 0.5, "no time")
    told = recalled((spent, spent), START)
    assert told.health.session == UsageFigures(
        requests=2, usage=spent.usage + spent.usage, counted=20, known_cost=1.0
    )
    assert told.answered_at is None


def test_turns_that_a_fork_copied_do_not_count_as_its_cost() -> None:
    spent = Spent(1, "m", Usage(input=10, output=2), 0.5, AT)
    told = recalled((spent, Forked("other", 1, "m", AT, (), whole=True), spent), START)
    assert told.health.session.requests == 1
