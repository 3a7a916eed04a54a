"""The clock reaches the cache marks (H34)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from indwell.tools.base import ToolTable
from support.session import World, a_tool, a_world, asks, call, says


async def look(name: str, context: object) -> str:
    return name


async def marks_after(world: World, idle: timedelta) -> tuple[int, ...]:
    """Where the request behind a round of 25 calls is marked, so long after the last answer."""
    await world.turn("one")
    session = world.session
    assert session.answered_at is not None
    session.answered_at -= idle
    await world.turn("two")
    return world.provider.requests[-1].anchors.messages


async def test_what_a_dead_cache_held_is_not_marked_again(tmp_path: Path) -> None:
    many = asks(*(call("look", f"c{n}", name=f"f{n}") for n in range(25)))
    seen = []
    for name, idle in (("alive", timedelta(0)), ("dead", timedelta(minutes=6))):
        registry = ToolTable([a_tool("look", look)])
        (tmp_path / name).mkdir()
        async with a_world(tmp_path / name, [many, says(), says()], registry=registry) as world:
            seen.append(await marks_after(world, idle))
    assert seen == [(1, 3), (3,)]
