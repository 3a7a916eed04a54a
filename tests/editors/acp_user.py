"""Plays the shared scenarios through ``indwell acp``, as a client of the protocol's Python SDK.

A client of the protocol has no code actions. The user writes a prompt with a part of the file. The
client undoes an edit by the diffs that it has received.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from acp import schema, text_block
from editors.place import forked_environment
from editors.scenarios import ACTION, FIRST, LAST, MINE, PATH, QUESTION, REPLY, formatted
from support.acp_client import EditorClient, Started, connected

_NAMES = {"no": "No", "once": "Once"}


class AcpUser:
    """A user in a client that shows diffs and questions.

    Args:
        connection: The connection to ``indwell acp``.
        client: The client.
        root: The folder of the project.
    """

    def __init__(self, connection: Any, client: EditorClient, root: Path) -> None:
        self.connection, self.client, self.root = connection, client, root
        self.path = root / PATH
        self.session = ""

    @property
    def text(self) -> str:
        """The text that the client shows: its buffer, or the file."""
        return self.client.buffers.get(self.path) or self.disk

    @property
    def disk(self) -> str:
        """The text on disk."""
        return self.path.read_bytes().decode()

    async def begin(self) -> None:
        """Begin a session."""
        new = await self.connection.new_session(cwd=str(self.root), mcp_servers=[])
        self.session = new.session_id

    async def say(self, *blocks: Any) -> None:
        """Send a prompt, and wait for the end of the turn."""
        await self.connection.prompt(session_id=self.session, prompt=list(blocks))

    async def fix(self) -> None:
        """Send "Fix this" with the lines of the first function."""
        lines = self.text.splitlines(keepends=True)[FIRST - 1 : LAST]
        part = schema.TextResourceContents(
            uri=f"{self.path.as_uri()}#L{FIRST}:{LAST}", text="".join(lines)
        )
        block = schema.EmbeddedResourceContentBlock(type="resource", resource=part)
        await self.say(text_block(f"{ACTION} "), block)

    def diffs(self) -> Sequence[schema.FileEditToolCallContent]:
        """Return the diffs of the last edit."""
        with_diffs = [
            found
            for one in self.client.of(schema.ToolCallProgress)
            if (found := [part for part in one.content or [] if part.type == "diff"])
        ]
        return with_diffs[-1]

    def titles(self) -> Sequence[str]:
        """Return the titles of all calls and remarks."""
        calls = (
            *self.client.of(schema.ToolCallStart),
            *self.client.of(schema.ToolCallProgress),
        )
        return [one.title for one in calls if one.title]


async def _fix(user: AcpUser) -> dict[str, Any]:
    await user.fix()
    receipt = f"edit_file {PATH} · +1 −1"
    report: dict[str, Any] = {"receipt": receipt, "shown": user.titles(), "buffer": user.text}
    (diff,) = user.diffs()
    report["undone"] = user.text.replace(diff.new_text, diff.old_text or "")
    report["redone"] = report["undone"].replace(diff.old_text or "", diff.new_text)
    user.path.write_bytes(formatted(user.text).encode())
    report |= {"saved": user.text, "disk": user.disk}
    await user.fix()
    return report | {"again": user.text}


async def _ask(user: AcpUser) -> dict[str, Any]:
    answers = iter(("no", "once"))
    user.client.choose = lambda _call, _options: next(answers)
    await user.fix()
    refused = {"buffer": user.text, "disk": user.disk}
    await user.fix()
    lines = user.text.splitlines(keepends=True)
    lines[LAST - 1] = f"{lines[LAST - 1].rstrip()}{MINE}\n"
    user.client.buffers[user.path] = "".join(lines)
    await user.fix()
    questions = [
        {
            "prompt": call.content[0].content.text,
            "titles": [_NAMES.get(one.option_id, one.name) for one in options],
        }
        for call, options in user.client.asked
    ]
    report = {"refused": refused, "questions": questions, "mark": "```\n"}
    return report | {"buffer": user.text, "disk": user.disk}


async def _cancel(user: AcpUser) -> dict[str, Any]:
    turn = asyncio.create_task(user.fix())
    await user.client.until(lambda: "I am thinking" in user.client.said())
    began = time.monotonic()
    await user.connection.cancel(session_id=user.session)
    await turn
    took = 1_000 * (time.monotonic() - began)
    return {"took": took, "buffer": user.text, "disk": user.disk}


async def _review(user: AcpUser) -> dict[str, Any]:
    """Answer the question about an edit hunk by hunk: yes, no, yes."""
    await user.connection.set_session_mode(session_id=user.session, mode_id="ask")
    answers = iter(("hunks", "yes", "no", "yes"))
    user.client.choose = lambda _call, _options: next(answers)
    await user.fix()
    shown = [call.content[0].content.text for call, _ in user.client.asked]
    return {"by_hunk": shown[1:], "buffer": user.text}


async def _chat(user: AcpUser) -> dict[str, Any]:
    await user.say(text_block(QUESTION))
    await user.client.until(lambda: REPLY in user.client.said())
    user.client.updates.clear()
    await user.connection.load_session(cwd=str(user.root), session_id=user.session, mcp_servers=[])
    said = (schema.UserMessageChunk, schema.AgentMessageChunk)
    return {
        "chat": "\n".join(
            one.content.text for _, one in user.client.updates if isinstance(one, said)
        )
    }


_RUNS: Mapping[str, Callable[[AcpUser], Awaitable[dict[str, Any]]]] = {
    "fix": _fix,
    "ask": _ask,
    "cancel": _cancel,
    "review": _review,
    "chat": _chat,
}


def play_acp(run: str, root: Path, folder: Path, variables: Mapping[str, str]) -> dict[str, Any]:
    """Play a run through ``indwell acp``; return the report."""
    started = Started(root, {**forked_environment(folder), **variables})
    client = EditorClient()

    async def played() -> dict[str, Any]:
        async with connected(client, started) as connection:
            user = AcpUser(connection, client, root)
            await user.begin()
            return await _RUNS[run](user)

    return asyncio.run(played())
