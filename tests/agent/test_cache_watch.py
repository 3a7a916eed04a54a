"""Warnings about a prompt cache that stops working during a turn."""

from __future__ import annotations

from pathlib import Path

from indwell.agent.core.events import Notice, UsageReported
from indwell.context.request.cache_health import UsageFigures
from indwell.messages import Reply, Usage
from support.session import a_world, asks, call

LINES = "a line of the file that is read\n" * 600  # this is about 5,000 tokens
SERVED, NOT_SERVED = Usage(6_000, cached=4_000, output=2), Usage(6_000, output=2)


def reading(usages: list[Usage]) -> list[Reply]:
    """Return replies that read one more file each; the last reply ends the turn."""
    calls = [
        asks(call("read_file", f"c{number}", path=f"{number}.py"), usage=usage)
        for number, usage in enumerate(usages[:-1])
    ]
    return [*calls, Reply("done", usage=usages[-1])]


async def warnings_of(folder: Path, usages: list[Usage]) -> list[str]:
    files = {f"{number}.py": LINES for number in range(len(usages))}
    async with a_world(folder, reading(usages), files=files) as world:
        assert (await world.turn("Read them all.")).ending == "done"
        told = world.told(Notice)
        assert len(world.told(UsageReported)) == len(usages)
        figures = world.session.health.session
        usage = sum(usages, Usage())
        expected = figures.expected
        assert figures == UsageFigures(
            requests=len(usages),
            usage=usage,
            counted=usage.input,
            expected=expected,
            known_cost=world.session.spending.cost or 0.0,
        )
        assert 0 < expected <= usage.input
        assert {notice.level for notice in told} <= {"warning"}
        return [notice.message for notice in told]


async def test_a_cache_that_stops_serving_in_a_turn_is_reported_once(tmp_path: Path) -> None:
    (warning,) = await warnings_of(tmp_path, [NOT_SERVED, SERVED, *[NOT_SERVED] * 5])
    assert warning.startswith(
        "3 requests in a row got nothing from the prompt cache: the endpoint did not use it"
    )


async def test_no_warning_for_a_working_cache_or_an_endpoint_without_a_cache(
    tmp_path: Path,
) -> None:
    assert await warnings_of(tmp_path / "served", [NOT_SERVED, *[SERVED] * 5]) == []
    assert await warnings_of(tmp_path / "none", [NOT_SERVED] * 6) == []


async def test_the_cache_warning_names_a_changing_request_beginning(tmp_path: Path) -> None:
    """The first message is rewritten before each turn."""
    script = [Reply("yes", usage=usage) for usage in (SERVED, *[NOT_SERVED] * 3)]
    async with a_world(tmp_path, script) as world:
        for number in range(4):
            await world.turn(LINES)
            first, *others = world.messages
            (environment, words) = first.blocks[:2]
            spoiled = type(environment)(f"<x>{number}</x>", environment.meta)
            message = type(first)(first.role, (spoiled, words, *first.blocks[2:]), first.turn)
            talk = world.session.conversation
            world.session.conversation = type(talk)(
                talk.config, talk.system, talk.tools, (message, *others)
            )
        (warning,) = [notice.message for notice in world.told(Notice)]
    assert "message 1, block 1 (source: environment of turn 1) changed" in warning
    assert warning.endswith("it was '<x>1</x>', and is '<x>2</x>'")
