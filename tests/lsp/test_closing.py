"""The end of a server: a full disk is reported, and everything is closed nevertheless."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from indwell.errors import SessionError
from indwell.service.chores import close_all
from support.editing import USAGE, Home
from support.loopback_endpoint import LoopbackEndpoint, Seen, say
from support.raw_client import HATCHED, RawClient, raw_client

if TYPE_CHECKING or sys.platform != "win32":
    import resource


async def test_each_resource_is_closed_even_if_others_fail(
    caplog: pytest.LogCaptureFixture,
) -> None:
    closed: list[str] = []

    async def close(name: str, error: Exception | None = None) -> None:
        closed.append(name)
        if error is not None:
            raise error

    await close_all(
        lambda: close("full", SessionError("make room")), lambda: close("gone", OSError("no disk"))
    )
    assert (closed, caplog.messages) == (
        ["full", "gone"],
        ["at the end: make room", "at the end: no disk"],
    )
    with pytest.raises(ValueError, match="a bug"):
        await close_all(lambda: close("bug", ValueError("a bug")), lambda: close("last"))
    assert closed[-1] == "last"


@pytest.mark.skipif(sys.platform != "linux", reason="limits what another process may write")
async def test_a_full_disk_keeps_the_session_until_there_is_room_and_ends_cleanly(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)

    def script(_seen: Seen) -> Any:
        return say("Done.", usage=USAGE)

    async with (
        LoopbackEndpoint(script) as endpoint,
        raw_client(
            home, command=HATCHED, environment=home.environment(endpoint.base_url)
        ) as client,
    ):
        first = await prompt(client, "first")
        set_room(client, 10)
        failed = await prompt(client, "SECOND")
        assert "nothing is lost yet: make room" in failed["message"]
        anew: dict[str, Any] = {"command": "indwell.newSession", "arguments": [{}]}
        await client.request("workspace/executeCommand", anew)
        set_room(client, resource.RLIM_INFINITY)
        third = await prompt(client, "third", session=first["session"])
        assert (third["session"], third["ending"]) == (first["session"], "done")
        set_room(client, 10)
        await prompt(client, "lost")
        bye = await client.request("shutdown")
        client.notify("exit")
        assert (bye["result"], await client.ended()) == (None, 0)
        assert "at the end: the session could not be saved (File too large)" in client.stderr
        assert "Traceback" not in client.stderr
    [log] = home.state.rglob("log.jsonl")
    said = (json.loads(one).get("words") for one in log.read_text(encoding="utf-8").splitlines())
    assert list(dict.fromkeys(filter(None, said))) == ["first", "SECOND", "third"]


async def prompt(client: RawClient, text: str, **more: str) -> dict[str, Any]:
    answer = await client.request("indwell/prompt", {"text": text, **more})
    result: dict[str, Any] = answer["result"]
    return result


def set_room(client: RawClient, size_b: int) -> None:
    """Limit the size of the server's files."""
    _, hard = resource.prlimit(client.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(client.pid, resource.RLIMIT_FSIZE, (size_b, hard))
