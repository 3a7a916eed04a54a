"""An ACP client that behaves as an editor does: shows updates, answers questions, has buffers."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acp.interfaces import Agent

from acp import connect_to_agent, schema, spawn_agent_process
from support.editing import Home
from support.hatching import can_hatch, hatch

Choose = Callable[[schema.ToolCallUpdate, Sequence[schema.PermissionOption]], str | None]
INDWELL = "import sys; from indwell.cli import main; sys.exit(main())"


def refuse(call: schema.ToolCallUpdate, options: Sequence[schema.PermissionOption]) -> str | None:
    """Choose the first option that refuses."""
    del call
    return next(one.option_id for one in options if one.kind.startswith("reject"))


def allow(call: schema.ToolCallUpdate, options: Sequence[schema.PermissionOption]) -> str | None:
    """Choose the first option that allows."""
    del call
    return next(one.option_id for one in options if one.kind.startswith("allow"))


class EditorClient:
    """Implements the SDK's ``Client``.

    Attributes:
        updates: All updates, with the id of their session.
        asked: All permission requests: the call and its options.
        buffers: Unsaved texts by path.
        choose: Answers a permission request; None closes the dialog.
    """

    def __init__(self, choose: Choose = refuse) -> None:
        self.updates: list[tuple[str, Any]] = []
        self.asked: list[tuple[schema.ToolCallUpdate, list[schema.PermissionOption]]] = []
        self.buffers: dict[Path, str] = {}
        self.written: list[Path] = []
        self.choose = choose
        self.changed = asyncio.Condition()
        self.agent: Agent | None = None

    def on_connect(self, conn: Agent) -> None:
        """Remember the agent."""
        self.agent = conn

    async def session_update(self, session_id: str, update: Any, **_meta: Any) -> None:
        """Store an update."""
        async with self.changed:
            self.updates.append((session_id, update))
            self.changed.notify_all()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_meta: Any
    ) -> schema.RequestPermissionResponse:
        """Answer as ``choose`` does."""
        del session_id
        async with self.changed:
            self.asked.append((tool_call, options))
            self.changed.notify_all()
        chosen = self.choose(tool_call, options)
        if chosen is None:
            outcome: Any = schema.DeniedOutcome(outcome="cancelled")
        else:
            outcome = schema.AllowedOutcome(outcome="selected", option_id=chosen)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def read_text_file(
        self, session_id: str, path: str, **_meta: Any
    ) -> schema.ReadTextFileResponse:
        """Return the buffer, or the file with the line ends that editors use internally."""
        del session_id
        text = self.buffers.get(Path(path))
        if text is None:
            text = await asyncio.to_thread(Path(path).read_text, encoding="utf-8")
        return schema.ReadTextFileResponse(content=text)

    async def write_text_file(
        self, session_id: str, path: str, content: str, **_meta: Any
    ) -> schema.WriteTextFileResponse:
        """Put the text into the buffer, and save it."""
        del session_id
        self.written.append(Path(path))
        self.buffers.pop(Path(path), None)
        await asyncio.to_thread(Path(path).write_bytes, content.encode())
        return schema.WriteTextFileResponse()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until a condition holds after an update or a question."""
        async with asyncio.timeout(60), self.changed:
            await self.changed.wait_for(holds)

    def said(self, session: str | None = None) -> str:
        """Return the text of the answer."""
        return "".join(
            one.content.text
            for of, one in self.updates
            if isinstance(one, schema.AgentMessageChunk) and session in {None, of}
        )

    def of(self, kind: type[Any], session: str | None = None) -> list[Any]:
        """Return all updates of a kind."""
        return [one for of, one in self.updates if isinstance(one, kind) and session in {None, of}]


@dataclass(frozen=True)
class Started:
    """Where ``indwell acp`` runs, if not in the home of a test.

    Attributes:
        workspace: The working folder.
        variables: The environment.
    """

    workspace: Path
    variables: Mapping[str, str]

    def environment(self, base_url: str = "") -> Mapping[str, str]:
        """Return the environment."""
        del base_url
        return self.variables


@asynccontextmanager
async def connected(
    client: EditorClient,
    home: Home | Started,
    base_url: str = "",
    *arguments: str,
    files: bool = True,
) -> AsyncIterator[Any]:
    """Start ``indwell acp``, forked from a loaded process if possible; yield the connection."""
    can = schema.ClientCapabilities(
        fs=schema.FileSystemCapabilities(read_text_file=files, write_text_file=files)
    )
    environment = home.environment(base_url)
    start = _hatched if can_hatch(environment) else _spawned
    async with start(client, home, environment, arguments) as connection:
        await connection.initialize(protocol_version=1, client_capabilities=can)
        yield connection


@asynccontextmanager
async def _hatched(
    client: EditorClient,
    home: Home | Started,
    environment: Mapping[str, str],
    arguments: Sequence[str],
) -> AsyncIterator[Any]:
    process = await hatch(("acp", *arguments), environment=environment, folder=home.workspace)
    log = asyncio.create_task(process.stderr.read())
    connection: Any = connect_to_agent(
        client, process.stdin, process.stdout, use_unstable_protocol=True
    )
    try:
        yield connection
    finally:
        await connection.close()
        process.stdin.close()
        async with asyncio.timeout(60):
            status = await process.wait()
        said = await log
        process.close()
    assert status == 0, said.decode("utf-8", "replace")


@asynccontextmanager
async def _spawned(
    client: EditorClient,
    home: Home | Started,
    environment: Mapping[str, str],
    arguments: Sequence[str],
) -> AsyncIterator[Any]:
    async with spawn_agent_process(
        client,
        sys.executable,
        "-c",
        INDWELL,
        "acp",
        *arguments,
        env=environment,
        cwd=home.workspace,
        transport_kwargs={"stderr": None, "shutdown_timeout": 60},
        use_unstable_protocol=True,
    ) as (connection, process):
        yield connection
    assert process.returncode == 0
