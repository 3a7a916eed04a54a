"""Runs the real server over stdio with the fake editor, in folders of one test."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.client import JsonRPCClient
from pygls.io_ import run_async

from indwell.bounds.command_bounds import strength
from indwell.context.pairing import problems
from indwell.lsp.messages import methods as protocol
from indwell.policy.call_facts import CallFacts, rule_of
from indwell.sessions.conversation_restore import fold
from indwell.sessions.records import Record, TurnEndRecord
from indwell.sessions.storage.store import SessionStore
from support.fake_editor.buffer import Buffer, lines_range
from support.fake_editor.editor import FakeEditor
from support.hatching import Hatched, can_hatch, hatch
from support.loopback_endpoint import Answer, Seen, refuse, say

SERVE = (sys.executable, "-m", "indwell", "serve", "--stdio")
SOURCE = "def total(items):\n    return sum(items) + 1\n"
MENDED = "def total(items):\n    return sum(items)\n"
MODEL = "loopback-model"
USAGE = {"prompt_tokens": 10, "completion_tokens": 2}
READ = ("read_file", json.dumps({"path": "shop.py"}))
EDIT = ("edit_file", json.dumps({"path": "shop.py", "edits": [{"old": " + 1", "new": ""}]}))


class Home:
    """One user's folders: a workspace with ``shop.py``, a state folder, a configuration.

    Attributes:
        trusted: Folders that the user trusts; a test of an untrusted folder empties the list.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.workspace = self.folder / "work"
        self.state = self.folder / "state"
        self.config = self.folder / "config"
        self.trusted: tuple[Path, ...] = (self.workspace,)
        self.workspace.mkdir()
        self.shop = self.write("shop.py", SOURCE)

    def write(self, name: str, text: str) -> Path:
        """Write a file in the workspace."""
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def configure(self, text: str) -> Path:
        """Write the user's settings file."""
        path = self.config / "indwell" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def environment(self, base_url: str = "", **more: str) -> dict[str, str]:
        """Return the environment of a process, without the machine's settings."""
        inherited = {
            name: os.environ[name]
            for name in ("PATH", "PYTHONPATH", "SYSTEMROOT")
            if name in os.environ
        }
        chosen = {"OPENAI_BASE_URL": base_url, "INDWELL_MODEL": MODEL} if base_url else {}
        return {
            **inherited,
            "HOME": str(self.folder),
            "USERPROFILE": str(self.folder),  # Windows reads this and the following variables.
            "WIN_PD_OVERRIDE_LOCAL_APPDATA": str(self.config),
            "XDG_CONFIG_HOME": str(self.config),
            "INDWELL_STATE": str(self.state),
            "INDWELL_TRUSTED": os.pathsep.join(map(str, self.trusted)),
            **chosen,
            **more,
        }

    def rule(self, command: str) -> str:
        """Return the rule that permits a command in the workspace permanently."""
        asked = CallFacts(tool="bash", effect="run", command=command, cwd=str(self.workspace))
        return rule_of(asked, confined=strength().is_whole)

    @property
    def files(self) -> dict[str, bytes]:
        """Return the content of each file in the workspace."""
        return {
            path.relative_to(self.workspace).as_posix(): path.read_bytes()
            for path in self.workspace.rglob("*")
            if path.is_file()
        }

    def logs(self) -> list[tuple[Record, ...]]:
        """Return the records of each session, oldest first; check that each history is valid."""
        store = SessionStore(self.state, self.workspace)
        found = []
        for session in reversed(store.ids()):
            reading = store.open(session)
            assert reading.notices == ()
            assert problems(fold(reading.records)) == ()
            found.append(reading.records)
        return found

    def n_ended(self) -> int:
        """Return the number of ended turns, even while the server writes a record."""
        logs = self.state.glob("sessions/*/*/log.jsonl")
        return sum(log.read_bytes().count(b'"type":"turnFinished"') for log in logs)

    def endings(self) -> list[tuple[str, str]]:
        """Return how each turn of the only session ended, and the text that the turn returned."""
        (log,) = self.logs()
        return [(one.ending, one.words) for one in log if isinstance(one, TurnEndRecord)]


class Editor(FakeEditor):
    """A fake editor that also records the numbers of events, and can delay edits.

    Attributes:
        numbered: Session, sequence number and type of each event.
        hold: The editor waits for this event before it applies an edit; None means no wait.
        n_held: The number of edits that have waited.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.numbered: list[tuple[str, int, str]] = []
        self.hold: asyncio.Event | None = None
        self.n_held = 0
        super().__init__(*arguments, **named)

    async def _on_indwell_event(self, params: protocol.EventParams) -> None:
        self.numbered.append((params.session, params.seq, params.event["type"]))
        await super()._on_indwell_event(params)

    async def _on_apply_edit(
        self, params: types.ApplyWorkspaceEditParams
    ) -> types.ApplyWorkspaceEditResult:
        if self.hold is not None:
            self.n_held += 1
            await self._tell()
            await self.hold.wait()
        return await super()._on_apply_edit(params)

    async def ask(self, text: str, *, session: str | None = None, id_: str | None = None) -> Any:
        """Send ``indwell/prompt``, and return the answer at the end of the turn."""
        return await self.client.protocol.send_request_async(
            "indwell/prompt", protocol.PromptParams(text, session), id_
        )

    async def fix(self, buffer: Buffer, *, wait: bool = False, **asked: Any) -> Any:
        """Choose "Fix this" for the whole of ``shop.py``."""
        actions = await self.code_actions(buffer, lines_range(1, 2), **asked)
        command = next(one for one in actions if one.title == "Fix this").command
        assert command is not None
        (argument,) = command.arguments or ()
        return await self.execute(command.command, {**argument, "wait": wait})

    def reopen(self, path: Path, text: str) -> Buffer:
        """Close a file if it is open, write the file, and open it."""
        if path.as_uri() in self.buffers:
            identifier = types.TextDocumentIdentifier(uri=path.as_uri())
            self.client.text_document_did_close(
                types.DidCloseTextDocumentParams(text_document=identifier)
            )
        path.write_bytes(text.encode())
        return self.open(path)

    async def heard(self) -> None:
        """Wait until the server has read everything that was sent so far."""
        await self.client.text_document_code_action_async(
            types.CodeActionParams(
                text_document=types.TextDocumentIdentifier(uri="untitled:nothing"),
                range=lines_range(1, 1),
                context=types.CodeActionContext(diagnostics=[]),
            )
        )

    def kinds(self) -> list[str]:
        """Return the types of the events so far, without immediate repeats."""
        types_ = [event["type"] for event in self.events]
        return [one for at, one in enumerate(types_) if not at or types_[at - 1] != one]

    @property
    def process(self) -> asyncio.subprocess.Process | Hatched:
        """Return the server's process."""
        process: asyncio.subprocess.Process | Hatched | None = self.client._server
        assert process is not None
        return process


@asynccontextmanager
async def editing(
    home: Home,
    base_url: str = "",
    *,
    environment: Mapping[str, str] | None = None,
    **named: Any,
) -> AsyncIterator[Editor]:
    """Yield an editor with a running server; end the server after the test.

    If the environment allows it, the server is forked from a preloaded process (``hatching.py``).
    """
    editor = Editor(home.workspace, **named)
    variables = home.environment(base_url) if environment is None else environment
    if can_hatch(variables):
        serve = ("serve", "--stdio")
        _attach(editor.client, await hatch(serve, environment=variables, folder=Path.cwd()))
        await editor.greet()
    else:
        await editor.start(SERVE, environment=variables)
    try:
        yield editor
        if editor.process.returncode is None:
            async with asyncio.timeout(60):
                await editor.stop()
    finally:
        process = editor.process
        if process.returncode is None:
            process.kill()
            await process.wait()
        process._transport.close()


def _attach(client: JsonRPCClient, server: Hatched) -> None:
    """Connect a client to a forked server, as ``start_io`` does for a server that it starts."""
    client.protocol.set_writer(server.stdin)
    client._server = server  # type: ignore[assignment] # looks like one
    reading = run_async(
        stop_event=client._stop_event,
        reader=server.stdout,
        protocol=client.protocol,
        error_handler=client.report_server_error,
    )
    ending = client._server_exit()  # type: ignore[no-untyped-call]
    client._async_tasks += (asyncio.ensure_future(reading), asyncio.ensure_future(ending))


def bash(command: str) -> Answer:
    """Return a reply that runs a command."""
    return say(calls=[("bash", json.dumps({"command": command}))], usage=USAGE)


def mend() -> list[Answer]:
    """Return three replies: read a file, edit the file, end the turn."""
    return [
        say("I look.", calls=[READ], usage=USAGE),
        say(calls=[EDIT], usage=USAGE),
        say("It added one too many.", usage=USAGE),
    ]


def results(seen: Seen) -> list[str]:
    """Return the texts of all tool results in a request."""
    return [one["content"] for one in seen.body["messages"] if one["role"] == "tool"]


def running(marker: str) -> list[str]:
    """Return the processes whose command line contains ``marker`` (Linux)."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes() if folder.name.isdecimal() else b""
        except OSError:
            continue  # The process ended during the check.
        if marker.encode() in words:
            found.append(words.replace(b"\0", b" ").decode())
    return found


class Playlist:
    """A script that each test replaces, for an endpoint that several tests share.

    Attributes:
        asked: An event that is set when the endpoint has received the first request since ``play``.
    """

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self._answers: list[Answer] = []

    def play(self, *answers: Answer) -> None:
        """Set the next replies, and drop replies of the previous test."""
        self.asked.clear()
        self._answers = list(answers)

    def __call__(self, _seen: Seen) -> Answer:
        self.asked.set()
        return self._answers.pop(0) if self._answers else refuse(400, "the playlist is over")


def texts_of(choices: Sequence[Mapping[str, Any]]) -> str:
    """Return all texts of the user in a request as one text."""
    return "\n\n".join(one["content"] for one in choices if one["role"] == "user")
