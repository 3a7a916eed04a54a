"""The time since the last answer decides where cache marks are set (H34)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from indwell.tools.base import ToolTable
from support.session import World, a_tool, a_world, asks, call, says


async def marks_after(folder: Path, idle: timedelta) -> tuple[int, ...]:
    """Return the cache marks of a request that is sent ``idle`` after the last answer."""
    worlds: list[World] = []

    async def look(name: str, context: object) -> str:
        session = worlds[0].session
        if name == "f0":
            assert session.spending.answered_at is not None
            session.spending.answered_at -= idle
        return name

    many = asks(*(call("look", f"c{n}", name=f"f{n}") for n in range(25)))
    registry = ToolTable([a_tool("look", look)])
    folder.mkdir()
    async with a_world(folder, [many, says()], registry=registry) as world:
        worlds.append(world)
        await world.turn("one")
        return world.provider.requests[-1].anchors.messages


async def test_the_content_of_an_expired_cache_is_not_marked_again(tmp_path: Path) -> None:
    assert await marks_after(tmp_path / "alive", timedelta(0)) == (0, 2)
    assert await marks_after(tmp_path / "dead", timedelta(minutes=6)) == (2,)
