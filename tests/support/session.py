"""Creates a session with a scripted model, a real log, real tools and a fake environment."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from indwell.agent.core.events import Event, TurnFinished
from indwell.agent.core.feature import Feature
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.agent.core.session_features import Features
from indwell.agent.core.session_parts import Parts, SessionClock, SessionModel, TurnLimits
from indwell.agent.features.attachments.feature import attachments_feature
from indwell.agent.features.checks.feature import checks_feature
from indwell.agent.features.checks.turn_checks import SessionChecks
from indwell.agent.features.instructions.feature import NOTHING, FoundInstructions, Instructions
from indwell.agent.features.review_news import ReviewNews
from indwell.agent.features.time import time_feature
from indwell.agent.loop.turn import run_turn
from indwell.bounds.rules import ReadableFolders, Rules
from indwell.context.conversation import Config, Conversation, system_block
from indwell.context.pairing import problems
from indwell.messages import Message, Reply, Request, Text, ToolCall, ToolResult, Usage
from indwell.policy.approvals import Answer, Question
from indwell.policy.call_facts import Effect, Policy
from indwell.policy.paths import matches_any
from indwell.prompt.reminders import Surroundings
from indwell.providers.scripted import Answer as Step
from indwell.providers.scripted import ScriptedProvider
from indwell.sessions.conversation_restore import fold
from indwell.sessions.records import Record
from indwell.sessions.storage.store import SessionStore
from indwell.tools.base import Outcome, Tool, ToolContext, ToolFacts, ToolTable
from indwell.tools.editing.edit import make_edit_file
from indwell.tools.editing.write import make_write_file
from indwell.tools.read import make_read_file
from indwell.wiring.spill import SpillFolder
from indwell.workspace.base import Workspace
from support.memory_workspace import MemoryWorkspace

START = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
SURROUNDINGS = Surroundings("2026-11-21", "/workspace", "main", "small")
ENVIRONMENT = (
    "<system-reminder>\nToday is 2026-11-21. The workspace is '/workspace'. "
    "The git branch is 'main'. The model is small.\n</system-reminder>"
)
# After this many seconds, a wait counts as hanging; only a failing test waits so long.
PATIENCE_S = 60.0


class Clock:
    """A clock that advances by half a second at each reading."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        self.seconds += 0.5
        return self.seconds

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)


class RecordingApprover:
    """Answers in order, then "no"; records the questions."""

    def __init__(self, *answers: Answer) -> None:
        self.questions: list[Question] = []
        self._answers = list(answers)

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        return self._answers.pop(0) if self._answers else "no"


class MemoryLog:
    """A log in memory, for properties over many sessions."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def append(self, record: Record) -> None:
        self.records.append(record)

    async def commit(self) -> None:
        await asyncio.sleep(0)

    def commit_soon(self) -> None:
        """Do nothing; the log is in memory."""

    async def close(self) -> None:
        """Do nothing; no file is open."""


@dataclass
class World:
    """A session and its environment; ``events`` has all events of the session."""

    session: Session
    provider: ScriptedProvider
    approver: RecordingApprover
    workspace: Workspace
    store: SessionStore
    rules: set[str] = field(default_factory=set)
    surroundings: Surroundings = SURROUNDINGS
    instructions: str = ""
    events: list[Event] = field(default_factory=list)
    _waiting: list[tuple[Callable[[Event], bool], asyncio.Future[None]]] = field(
        default_factory=list
    )

    async def turn(self, words: str = "go", **more: Any) -> TurnFinished:
        """Run a turn to its end."""
        return await run_turn(self.session, Prompt(words, **more), self.emit)

    def begin(self, words: str = "go") -> asyncio.Task[TurnFinished]:
        """Start a turn that the test may cancel."""
        return asyncio.ensure_future(self.turn(words))

    def emit(self, event: Event) -> None:
        self.events.append(event)
        for wanted, future in self._waiting:
            if wanted(event) and not future.done():
                future.set_result(None)

    async def until(self, wanted: Callable[[Event], bool]) -> None:
        """Wait for an event."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((wanted, future))
        await asyncio.wait_for(future, PATIENCE_S)

    def told(self, *kinds: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kinds)]

    @property
    def messages(self) -> tuple[Message, ...]:
        return self.session.conversation.messages

    @property
    def results(self) -> list[ToolResult]:
        """Return all results of tools in the conversation."""
        return [
            block
            for message in self.messages
            for block in message.blocks
            if isinstance(block, ToolResult)
        ]

    async def records(self) -> tuple[Record, ...]:
        """Return the log on disk; check that it contains the session's state (invariant 6)."""
        await self.session.parts.log.commit()
        reading = self.store.open(self.session.id)
        assert reading.notices == ()
        assert problems(self.messages) == ()
        assert fold(reading.records) == self.messages
        return reading.records


@asynccontextmanager
async def a_world(
    folder: Path,
    script: Sequence[Step | Callable[[Request], Step]] | Callable[[Request], Step],
    *,
    files: dict[str, str] | None = None,
    workspace: Workspace | None = None,
    tools: Sequence[Tool[Any]] = (),
    features: Sequence[Feature[Session]] = (),
    registry: ToolTable | None = None,
    answers: Sequence[Answer] = (),
    policy: Policy | None = None,
    window: int = 64_000,
    round_limit: int = 100,
) -> AsyncIterator[World]:
    """Yield a session with its log in ``folder`` and a ``workspace`` (in memory by default)."""
    clock = Clock()
    store = SessionStore(folder / "state", folder)
    identifier, log = store.create(model="small", now=START)
    rules: set[str] = set()

    async def instructions() -> str:
        return world.instructions

    async def of_folders(_files: Sequence[Path], _told: Sequence[str]) -> FoundInstructions:
        return NOTHING

    given = policy or Policy("auto")
    of_features = Features(
        (
            time_feature(),
            Instructions(instructions, of_folders).feature(),
            attachments_feature(),
            *features,
            checks_feature(SessionChecks()),
            ReviewNews().feature(),
        )
    )
    registry = registry or ToolTable(
        [make_read_file(), make_edit_file(), make_write_file(), *tools, *of_features.tools],
        of_features.late_tools,
    )
    workspace = workspace or MemoryWorkspace(files)

    async def grant(rule: str, always: bool) -> None:  # noqa: FBT001 - as in Parts
        del always
        rules.add(rule)

    async def surroundings() -> Surroundings:
        return world.surroundings

    provider, approver = ScriptedProvider(script), RecordingApprover(*answers)
    parts = Parts(
        model=SessionModel(provider, lambda usage: usage.output * 0.25),
        clock=SessionClock(clock.now, clock.monotonic),
        limits=TurnLimits(round_limit),
        tools=registry,
        features=of_features,
        workspace=workspace,
        approver=approver,
        rules=lambda: Rules(
            msgspec.structs.replace(given, granted=frozenset(rules)),
            hidden=lambda path: matches_any(path, given.deny),
        ),
        grant=grant,
        log=log,
        spill=SpillFolder(store.spill(identifier)),
        readable=ReadableFolders((store.spill(identifier),)),
        surroundings=surroundings,
    )
    conversation = Conversation(
        config=Config("small", window=window, max_output=1_000, cache_key=identifier),
        system=(system_block("You are a test."),),
        tools=registry.specs,
    )
    session = Session(id=identifier, parts=parts, conversation=conversation)
    world = World(session, provider, approver, workspace, store, rules)
    try:
        yield world
    finally:
        await session.close()


GROUPS = {
    "model": ("provider", "cost", "rates", "small", "other", "hang_up"),
    "clock": ("now", "monotonic"),
    "limits": ("rounds", "budgets", "ledger"),
    "compaction": ("preset", "summary_timeout_s", "wish"),
    "changes": ("coverage", "git"),
}


@dataclasses.dataclass(frozen=True)
class Hides:
    """Hides secrets with a function of the test; implements ``SecretHider``."""

    hide: Callable[[str], str]

    def also_hide(self, key: str) -> None:
        """Ignore a key."""


@dataclasses.dataclass(frozen=True)
class Spills:
    """Stores long texts with a function of the test; implements ``Spill``."""

    keep: Callable[[str, str], Awaitable[Path]]
    keep_as: Callable[[str, str], Awaitable[Path]]


def with_parts(session: Session, **changes: Any) -> None:
    """Replace parts of a session, or members of its groups of parts.

    ``hide``, ``keep`` and ``keep_as`` are functions; ``review`` is the ledger of changes.
    """
    parts = session.parts
    for group, names in GROUPS.items():
        of_group = {name: changes.pop(name) for name in names if name in changes}
        if of_group:
            parts = dataclasses.replace(
                parts, **{group: dataclasses.replace(getattr(parts, group), **of_group)}
            )
    if "review" in changes:
        changes["changes"] = dataclasses.replace(parts.changes, ledger=changes.pop("review"))
    if "hide" in changes:
        changes["secrets"] = Hides(changes.pop("hide"))
    if {"keep", "keep_as"} & changes.keys():
        keep = changes.pop("keep", parts.spill.keep)
        changes["spill"] = Spills(keep, changes.pop("keep_as", parts.spill.keep_as))
    session.parts = dataclasses.replace(parts, **changes)


def with_rules(session: Session, *, policy: Mapping[str, Any] | None = None, **more: Any) -> None:
    """Change these fields of the session's rules, and these fields of the policy."""
    rules = session.parts.rules

    def changed() -> Rules:
        now = rules()
        changed_policy = msgspec.structs.replace(now.policy, **(policy or {}))
        return dataclasses.replace(now, policy=changed_policy, **more)

    session.parts = dataclasses.replace(session.parts, rules=changed)


class Named(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of made-up tools."""

    name: str = ""


def a_tool(
    name: str,
    run: Callable[[str, ToolContext], Awaitable[str]],
    *,
    effect: Effect = "read",
) -> Tool[Named]:
    """Return a tool whose argument is a name: a file's name, or the command to run."""

    async def outcome(arguments: Named, context: ToolContext) -> Outcome:
        return Outcome(text=await run(arguments.name, context))

    def facts(arguments: Named) -> ToolFacts:
        if effect == "run":
            return ToolFacts(tool=name, effect=effect, command=arguments.name, cwd="/workspace")
        paths = (arguments.name,) if effect == "edit" else ()
        return ToolFacts(tool=name, effect=effect, paths=paths)

    return Tool(
        name=name,
        description=f"To {name}.",
        arguments=Named,
        effect=effect,
        facts=facts,
        run=outcome,
    )


def call(tool: str, id_: str = "c1", /, **arguments: object) -> ToolCall:
    return ToolCall(id_, tool, json.dumps(arguments))


def asks(*calls: ToolCall, text: str = "", usage: Usage | None = None) -> Reply:
    """Return a reply that calls tools."""
    return Reply(text, calls, finish="tool_calls", usage=usage or Usage(input=10, output=2))


def says(text: str = "done") -> Reply:
    """Return a reply that ends the turn."""
    return Reply(text, usage=Usage(input=10, output=1))


def texts(message: Message) -> list[str]:
    """Return the text of each block of a message."""
    return [block.text for block in message.blocks if isinstance(block, Text | ToolResult)]
