"""Tools: spec, typed arguments, the planned action for the policy, and an async run (H44)."""

from __future__ import annotations

import asyncio
import copy
import difflib
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from indwell.bounds.rules import NO_FOLDERS, ReadableFolders
from indwell.context.injections import Frame
from indwell.errors import ToolError
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import ToolSpec
from indwell.policy.approvals import Chosen
from indwell.policy.call_facts import Effect, ForeignTool
from indwell.policy.rules import NOTHING_MORE, Widening
from indwell.sandbox import Finished
from indwell.sandbox.capture import OnChunk
from indwell.sandbox.confinement import Confinement
from indwell.tools.arguments import Arguments, of_struct
from indwell.tools.known_texts import KnownTexts
from indwell.workspace.base import AppliedChange, Workspace

_MAX_QUOTE = 60  # An error message repeats at most 60 characters of a name.
# OpenAI's and Anthropic's endpoints require this form.
_NAME = lazy_pattern(r"[a-zA-Z0-9_-]{1,64}")
MOST_TOOLS = 128  # OpenAI's endpoints refuse more tools in one request.
# A deferred tool's description and schema, which others write, have at most this many characters.
MOST_SPEC = 16_000
_log = logging.getLogger(__name__)
Running: TypeAlias = Coroutine[None, None, Finished]
Run: TypeAlias = Callable[[OnChunk, asyncio.Event, Callable[[str], None]], Running]
"""Runs a command.

Arguments: a receiver of the output, an event that stops the command, and a receiver of notes about
actions without permission.
"""


class ToolFacts(msgspec.Struct, frozen=True):
    """The planned action of one call, for the policy and for the permission question.

    Attributes:
        tool: The tool's name.
        effect: See ``Effect``.
        paths: Files or folders that the call uses, as the model wrote the paths.
        command: The shell command; empty unless ``effect`` is ``run``.
        cwd: The folder of the command; empty unless ``effect`` is ``run``.
        subject: Text for people in place of the paths, such as a search pattern.
        wants: The access that the model asks for beyond the sandbox.
        why: The model's reason for that access.
        may_leave: Whether the call can follow a link out of the workspace, if the user allows this.
        keeps: The owner of the memory in which the call would store a fact, or empty if the call
            stores nothing.
        asks: Whether the call itself asks the user, so that no other call may run at the same time.
        background: Whether the command keeps running after the call has ended.
        address: The address of the web page that the call fetches, or empty for other calls.
        foreign: The MCP server's tool that is called, or None for a tool of Indwell.
        renames: Whether the call renames a symbol, so that a part of its changes is of no use.
    """

    tool: str
    effect: Effect
    paths: tuple[str, ...] = ()
    command: str = ""
    cwd: str = ""
    subject: str = ""
    wants: Widening = NOTHING_MORE
    why: str = ""
    may_leave: bool = False
    keeps: str = ""
    asks: bool = False
    background: bool = False
    address: str = ""
    foreign: ForeignTool | None = None
    renames: bool = False


class Picture(msgspec.Struct, frozen=True):
    """A picture for the model; ``data`` has the picture's bytes in base64."""

    media_type: str
    data: str


class Preview(msgspec.Struct, frozen=True):
    """The planned change of a call.

    Attributes:
        diff: The whole unified diff, or empty if unknown.
        by_hunk: Whether the call can run with only some of its hunks.
        before: The text before the change, or None if there is no file, or for a large file.
    """

    diff: str = ""
    by_hunk: bool = False
    before: str | None = None


Marks: TypeAlias = Mapping[Path, object]
"""The state of each file on disk; a different value shows that the file has changed."""


class Succeeded(msgspec.Struct, frozen=True):
    """A command that ended with exit code 0.

    Attributes:
        saw: The stat values of the files that the turn has changed, read just before the command
            ran.
        stale: Files with unsaved changes, of which the command read an older text.
    """

    saw: Marks = {}
    stale: frozenset[Path] = frozenset()


class Outcome(msgspec.Struct, frozen=True):
    """The result of a tool call.

    Attributes:
        text: The result for the model.
        is_error: Whether the tool failed.
        figure: One short phrase for the user, such as ``+3 −1`` or ``12 matches``.
        diff: The whole unified diff of an edit, or empty for other tools.
        counts: The numbers of added and removed lines, if one change was counted.
        changes: The files after the edit.
        pictures: Pictures for a model that accepts pictures; ``text`` describes them.
        said: The user's message during the call; the model gets the message as the user's own.
        frame: The tag around the text, or None for no tag.
        succeeded: The result of a command that ended with exit code 0.
    """

    text: str
    is_error: bool = False
    figure: str = ""
    diff: str = ""
    counts: tuple[int, int] | None = None
    changes: tuple[AppliedChange, ...] = ()
    pictures: tuple[Picture, ...] = ()
    said: str = ""
    frame: Frame | None = None
    succeeded: Succeeded | None = None


class ToolContext(msgspec.Struct, frozen=True):
    """The objects that a tool call may use. To stop a call, cancel its asyncio task.

    Attributes:
        workspace: The user's files.
        seen: The texts that the model has read.
        spill: Saves the full text of a result that is cut for the model; returns its path.
        on_output: Receives a command's output while it runs.
        readable: Readable folders outside the workspace, such as the session's spill folder.
        hidden: Returns whether a displayed path is hidden from the model; searches skip such a
            path.
        takes_pictures: Whether the model accepts pictures.
        facts: The actions that this call was allowed to do, set by the call itself.
        most_chars: Most characters of one result.
        judged: The file to which each path led at the time of the decision, by the written path.
        confinement: The sandbox of the call's command, or None for an allowed run without a
            sandbox.
        unasked: Whether the call's command runs without a question because it only reads.
        hide: Removes secrets from a text. Call this function before cutting a text, because half a
            secret is not recognised.
        chosen: The hunks of the preview that the user allowed, or None if all are allowed.
        covered: A context in which changes by a command or server are recorded for review.
        turn: The number of the turn, from 1.
        call_id: The id of the call.
        look: Returns the stat values of the files that the turn has changed; blocks.
        tell: Receives the events that tools emit, of ``agent.core.events``.
    """

    workspace: Workspace
    seen: KnownTexts
    spill: Callable[[str, str], Awaitable[Path]]
    on_output: Callable[[str], None]
    readable: ReadableFolders = NO_FOLDERS
    hidden: Callable[[str], bool] = lambda _path: False
    takes_pictures: bool = False
    facts: ToolFacts | None = None
    most_chars: int = 256_000
    judged: Mapping[str, Path] = {}
    confinement: Confinement | None = None
    unasked: bool = False
    hide: Callable[[str], str] = lambda text: text
    chosen: Chosen | None = None
    covered: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
    turn: int = 0
    call_id: str = ""
    look: Callable[[], Marks] = dict
    tell: Callable[[Any], None] = lambda _event: None

    def resolve(self, written: str) -> Path:
        """The file of a written path, as resolved when the permission was decided.

        Raises:
            ToolError: The path leads outside the workspace or is invalid.
        """
        judged = self.judged.get(written)
        if judged is not None and any(map(judged.is_relative_to, self.workspace.roots)):
            return judged
        return self.workspace.resolve(written)


A = TypeVar("A")


class Tool(Generic[A]):
    """One tool: the spec for the model, and how the tool runs.

    Args:
        name: The name that the model calls.
        description: A short description for the model.
        arguments: A frozen struct that forbids unknown fields, or ``Arguments``.
        effect: Read, edit or run.
        facts: Returns the planned action of a call.
        run: Runs a call; raises ``ToolError`` with a message for the model.
        preview: Shows what an edit would change, for the user to confirm.
        plan: For a call whose effects depend on the workspace, such as a rename: returns a function
            that creates the call to run, from the context and the arguments as JSON. None for other
            calls.
        polls: Whether consecutive equal calls are normal, because each asks for progress.
    """

    def __init__(
        self,
        *,
        name: str,
        description: str,
        arguments: Arguments[A] | type[A],
        effect: Effect,
        facts: Callable[[A], ToolFacts],
        run: Callable[[A, ToolContext], Awaitable[Outcome]],
        preview: Callable[[A, ToolContext], Awaitable[Preview]] | None = None,
        plan: Callable[[A], Callable[[ToolContext, str], Awaitable[Call]] | None] | None = None,
        polls: bool = False,
    ) -> None:
        self._arguments = arguments if isinstance(arguments, Arguments) else of_struct(arguments)
        schema = self._arguments.schema
        self.spec = ToolSpec(name=name, description=description, parameters=schema)
        self.effect = effect
        self.polls = polls
        self._facts = facts
        self._run = run
        self._preview = preview
        self._plan = plan

    def shortened(self, description: str, schema: Mapping[str, Any]) -> Tool[A]:
        """Return the tool in short form for a small model; calls still accept all arguments."""
        short: Tool[A] = copy.copy(self)
        parameters = msgspec.json.encode(schema).decode()
        short._arguments = replace(self._arguments, schema=parameters)
        short.spec = msgspec.structs.replace(
            self.spec, description=description, parameters=parameters
        )
        return short

    def bind(self, arguments: str) -> Call:
        """Check the model's JSON against the tool's arguments.

        Raises:
            ToolError: The text is not JSON or does not fit; the message quotes the text (H40).
        """
        value, ours = self._arguments.read(self.spec.name, arguments)
        facts = self._facts(value)
        preview = self._preview
        plan = None if self._plan is None else self._plan(value)
        return Call(
            effect=self.effect,
            arguments=ours,
            facts=facts,
            run=lambda context: self._run(value, msgspec.structs.replace(context, facts=facts)),
            preview=None if preview is None else lambda context: preview(value, context),
            plan=None if plan is None else lambda context: plan(context, ours),
        )


class Call(msgspec.Struct, frozen=True):
    """A call of a tool with checked arguments, ready for the permission decision and the run.

    Attributes:
        effect: Read, edit or run.
        arguments: The JSON of the arguments under Indwell's names, for permission, audit and
            people.
        facts: The planned action.
        run: Runs the call.
        preview: Returns the planned change, if the call is an edit; for other calls None.
        plan: Reads the workspace, with this call's permission, and returns the call that runs
            instead, after a separate permission. None if this call runs itself.
    """

    effect: Effect
    arguments: str
    facts: ToolFacts
    run: Callable[[ToolContext], Awaitable[Outcome]]
    preview: Callable[[ToolContext], Awaitable[Preview]] | None
    plan: Callable[[ToolContext], Awaitable[Call]] | None = None


class ToolTable:
    """The tools that an agent can call: fixed tools, and deferred tools that come and go.

    Args:
        fixed: The tools of the whole session, in the order that the model reads.
        late: Returns the current deferred tools. The function is called often, so it only reads
            memory. A deferred tool is left out if an endpoint would refuse its name, if another
            tool has the same name, if its description and schema are too long, or if there are too
            many tools.
        is_lean: Whether the tools are few and have short descriptions, because the model is small.
    """

    def __init__(
        self,
        fixed: Sequence[Tool[Any]],
        late: Callable[[], Sequence[Tool[Any]]] = tuple,
        *,
        is_lean: bool = False,
    ) -> None:
        self.is_lean = is_lean
        self._fixed: Mapping[str, Tool[Any]] = {tool.spec.name: tool for tool in fixed}
        self._find_late = late
        self._late: tuple[Tool[Any], ...] = ()
        self._tools = self._fixed
        self._specs = self.fixed
        self._departed: set[str] = set()

    def _now(self) -> Mapping[str, Tool[Any]]:
        late = tuple(self._find_late())
        if late != self._late:
            tools = dict(self._fixed)
            for tool in late:
                if why := _why_left_out(tool.spec, tools):
                    if tool not in self._late:
                        _log.warning("the tool %r is left out: %s", _short(tool.spec.name), why)
                else:
                    tools[tool.spec.name] = tool
            self._departed = (self._departed | set(self._tools)) - set(tools)
            self._late, self._tools = late, tools
            self._specs = tuple(tool.spec for tool in tools.values())
        return self._tools

    @property
    def fixed(self) -> tuple[ToolSpec, ...]:
        """The specs of the fixed tools."""
        return tuple(tool.spec for tool in self._fixed.values())

    @property
    def tools(self) -> tuple[Tool[Any], ...]:
        """The current tools; the fixed tools come first."""
        return tuple(self._now().values())

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The specs of the current tools, in the same order, cached until a tool changes."""
        self._now()
        return self._specs

    def has(self, name: str) -> bool:
        """Return whether the agent can call the tool now."""
        return name in self._fixed or name in self._now()

    def polls(self, name: str) -> bool:
        """Return whether consecutive equal calls of the tool are normal."""
        tool = self._fixed.get(name) or self._now().get(name)
        return tool is not None and tool.polls

    def bind(self, name: str, arguments: str) -> Call:
        """Find a tool and check its arguments.

        Raises:
            ToolError: The tool is unknown or no longer available, or its arguments are invalid.
        """
        if (fixed := self._fixed.get(name)) is not None:
            return fixed.bind(arguments)
        tools = self._now()
        tool = tools.get(name)
        if tool is None:
            known = f"The tools are: {', '.join(tools)}"
            if name in self._departed:
                raise ToolError(f"the tool {name!r} is not available any more. {known}")
            near = difflib.get_close_matches(_short(name), tools, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise ToolError(f"there is no tool {_short(name)!r}{hint} {known}")
        return tool.bind(arguments)


def _why_left_out(spec: ToolSpec, taken: Collection[str]) -> str:
    """Return why a deferred tool cannot be added to the names ``taken``, or an empty text."""
    if _NAME.fullmatch(spec.name) is None:
        return "endpoints refuse its name"
    if spec.name in taken:
        return "another tool has its name"
    if len(spec.description) + len(spec.parameters) > MOST_SPEC:
        return f"its description and schema have over {MOST_SPEC:,} characters"
    if len(taken) >= MOST_TOOLS:
        return f"a request may have {MOST_TOOLS} tools"
    return ""


def _short(name: str) -> str:
    """Return the beginning of a name that the model invented, for an error message."""
    return name if len(name) <= _MAX_QUOTE else name[: _MAX_QUOTE - 1] + "…"


class Background(Protocol):
    """Runs commands that outlive their tool calls."""

    async def start(self, command: str, run: Run, context: ToolContext) -> Outcome:
        """Start a command; return when the command counts as running or has ended.

        Raises:
            ToolError: The command cannot start, or too many commands run.
        """
        ...


class NoBackground:
    """Refuses all background commands. Implements ``Background``."""

    async def start(self, command: str, run: Run, context: ToolContext) -> Outcome:
        """Refuse the command.

        Raises:
            ToolError: Always.
        """
        del command, run, context
        raise ToolError("background commands are not available here; run it without `background`")


NOWHERE = NoBackground()
