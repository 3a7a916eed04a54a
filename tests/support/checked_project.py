"""Creates a project with a check, and a session with a scripted model that records all events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from indwell.agent.core.events import Checking, Event, Notice, TurnFinished
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.agent.loop.turn import run_turn
from indwell.messages import Reply, Request, Text
from indwell.policy.approvals import Answer
from indwell.providers.scripted import Answer as Step
from indwell.providers.scripted import ScriptedProvider
from indwell.review.ledger import ReviewLedger
from indwell.settings.model import Settings
from indwell.wiring.compose import open_session
from indwell.wiring.model import Model
from indwell.workspace.disk import DiskWorkspace
from support.session import RecordingApprover, asks, call

CHECKER = """\
import pathlib, sys
bad = 0
for path in sorted(pathlib.Path().glob("*.txt")):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if "totl" in line:
            bad = 1
            print(f'{path}:{number}:1: error: undefined name "totl"  [undefined]')
sys.exit(bad)
"""
"""A checker without dependencies: every line with ``totl`` in it is wrong."""

OLD = "old.txt:1:1: error: undefined name"
READ = asks(call("read_file", path="a.txt"))
WRONG = asks(call("edit_file", "c2", path="a.txt", edits=[{"old": "total", "new": "totl"}]))
RIGHT = asks(call("edit_file", "c3", path="a.txt", edits=[{"old": "totl", "new": "total"}]))


@dataclass
class Project:
    """A project's folder, and the events of the project's session."""

    folder: Path
    session: Session
    provider: ScriptedProvider
    approver: RecordingApprover
    settings: list[Settings]
    events: list[Event] = field(default_factory=list)

    async def turn(self, words: str = "go") -> TurnFinished:
        return await run_turn(self.session, Prompt(words), self.events.append)

    @property
    def checking(self) -> list[str]:
        return [event.what for event in self.events if isinstance(event, Checking)]

    @property
    def notices(self) -> list[str]:
        return [event.message for event in self.events if isinstance(event, Notice)]

    def told(self) -> list[str]:
        """Return the errors that the model was asked to repair."""
        return [
            block.text
            for message in self.session.conversation.messages
            for block in message.blocks
            if isinstance(block, Text) and block.meta.source == "diagnostics"
        ]


@asynccontextmanager
async def a_project(
    folder: Path,
    script: Sequence[Reply] | Callable[[Request], Step],
    *,
    files: dict[str, str] | None = None,
    is_trusted: bool = True,
    is_reviewed: bool = False,
    answers: Sequence[Answer] = (),
    approver: Any = None,
    **settings: Any,
) -> AsyncIterator[Project]:
    """Yield a project in a trusted folder with ``a.txt``, the checker and the given settings."""
    work = folder.resolve() / "work"
    work.mkdir()
    for name, text in {"a.txt": "total\n", "checker.py": CHECKER, **(files or {})}.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_bytes(text.encode())
    now = [
        msgspec.structs.replace(
            Settings(mode="auto", provider="scripted"),
            trusted=(str(work),) if is_trusted else (),
            **settings,
        )
    ]
    provider, approver = ScriptedProvider(script), approver or RecordingApprover(*answers)
    review = await ReviewLedger.open(folder / "review", [work]) if is_reviewed else None
    session = await open_session(
        DiskWorkspace([work]),
        approver,
        lambda: now[0],
        Model(provider, "small", 64_000, 8_192, lambda _usage: 0.0),
        environment={"INDWELL_STATE": str(folder / "state")},
        review=review,
    )
    try:
        yield Project(work, session, provider, approver, now)
    finally:
        await session.close()
        if review is not None:
            await review.close()
