"""A tool: a spec, typed arguments, facts for the policy, and an asynchronous run (H44)."""

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

_MAX_QUOTE = 60  # characters of a name that an error message repeats
_NAME = lazy_pattern(r"[a-zA-Z0-9_-]{1,64}")  # as OpenAI's and Anthropic's endpoints require
MOST_TOOLS = 128  # of one request; OpenAI's endpoints refuse more
MOST_SPEC = 16_000  # characters of a late tool's description and schema; others write them
_log = logging.getLogger(__name__)
Running: TypeAlias = Coroutine[None, None, Finished]
Run: TypeAlias = Callable[[OnChunk, asyncio.Event, Callable[[str], None]], Running]
"""Runs a command.

Takes a receiver of its output, an event that stops it, and a receiver of notes about its actions
without permission.
"""


class ToolFacts(msgspec.Struct, frozen=True):
    """The planned action of one call, for the policy and for the person who is asked.

    Attributes:
        tool: The tool's name.
        effect: See ``Effect``.
        paths: Files or folders the call touches, as the model wrote them.
        command: The shell command; empty unless ``effect`` is ``run``.
        cwd: The folder it would run in; empty unless ``effect`` is ``run``.
        subject: Shown to people instead of the paths, such as a search pattern.
        wants: The access that the model asks for beyond the sandbox.
        why: The model's reason for that.
        may_leave: Whether it can follow a link out of the workspace, if the user allows it.
        keeps: The owner of a memory that it would store beyond the session; empty if it stores
            nothing.
        asks: Whether it asks the user something itself, so that no other call runs at the same
            time.
        background: Whether its command runs on after the call has ended.
        address: The web page that it fetches; empty if it fetches none.
        foreign: The MCP server's tool that it calls; None for a tool of Indwell.
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


class Picture(msgspec.Struct, frozen=True):
    """A picture for the model; ``data`` is its bytes in base64."""

    media_type: str
    data: str


class Preview(msgspec.Struct, frozen=True):
    """The planned change of a call.

    Attributes:
        diff: The whole unified diff; empty if it is unknown.
        by_hunk: Whether the call can run with some of its hunks only.
        before: The text before the change; None without a file or if it is too large.
    """

    diff: str = ""
    by_hunk: bool = False
    before: str | None = None


Marks: TypeAlias = Mapping[Path, object]
"""The state of each file on disk; a different value means that the file has changed."""


class Succeeded(msgspec.Struct, frozen=True):
    """A command that ended with exit code 0.

    Attributes:
        saw: The marks of the files that the turn has changed, taken just before the command ran.
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
        diff: The whole unified diff of an edit; empty for other tools.
        counts: Lines added and removed, if there is one change and they were counted.
        changes: Files as the edit left them.
        pictures: Pictures for a model that takes them; ``text`` says what they show.
        said: The user's words during the call; the model gets them as the user's own words.
        frame: The tag around the text; None for no tag.
        succeeded: Set if a command ended with exit code 0.
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
    """The objects that a tool call may use. A call is cancelled as an asyncio task.

    Attributes:
        workspace: The user's files.
        seen: The texts that the model has read.
        spill: Saves the full text of a result that is cut for the model; returns its path.
        on_output: Receives a command's output while it runs.
        readable: Readable folders outside the workspace, such as the session's spill folder.
        hidden: Whether a displayed path is kept from the model; searches leave it out.
        takes_pictures: Whether the model takes pictures.
        facts: The actions that this call was allowed to do; the call itself sets them.
        most_chars: Most characters of one result.
        judged: The target of each path at the time of the decision, by the written path.
        confinement: The sandbox of its command; None for a run without one, which was allowed.
        unasked: Whether its command runs without a question because it only reads.
        hide: Removes secrets from a text. Apply it before a cut: half a secret is not recognised.
        chosen: The hunks of its preview that the user allowed, if not all of them.
        covered: Changes of a command or server inside this context can be reviewed and undone.
        turn: The number of the turn, from 1.
        call_id: The id of the call.
        look: Returns the marks of the files that the turn has changed; it blocks.
        tell: Receives events of ``agent.core.events`` from tools that emit some.
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
        """The file of a written path, even if a link has moved since the call was decided on.

        Raises:
            ToolError: The path leads outside the workspace or is invalid.
        """
        judged = self.judged.get(written)
        if judged is not None and any(map(judged.is_relative_to, self.workspace.roots)):
            return judged
        return self.workspace.resolve(written)


A = TypeVar("A")


class Tool(Generic[A]):
    """One tool: its spec for the model, and how it runs.

    Args:
        name: The name that the model calls.
        description: A short description for the model.
        arguments: A frozen struct that forbids unknown fields, or ``Arguments``.
        effect: Read, edit or run.
        facts: Returns the planned action of a call.
        run: Runs a call; raises ``ToolError`` with words for the model.
        preview: Shows what an edit would change, for the user to confirm.
        plan: For a call whose effects are only known after a look at the workspace, such as a
            rename: returns the function that makes the proper call from the context and the
            arguments as JSON. None for other calls.
        polls: Whether equal calls in a row are normal, because each asks how far something is.
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
        """Return the tool in short form for a small model; a call may still have all arguments."""
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
            ToolError: The text is not JSON or does not fit; the message quotes it (H40).
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
    """A tool with its checked arguments, ready to be decided on and run.

    Attributes:
        effect: Read, edit or run.
        arguments: The JSON of the call under our own names: what permission, audit and people see.
        facts: Its planned action.
        run: Runs it.
        preview: Shows what it would change; None unless it is an edit.
        plan: Looks at the workspace, as this call may, and returns the call that runs in its place
            after a permission of its own; None if this call runs itself.
    """

    effect: Effect
    arguments: str
    facts: ToolFacts
    run: Callable[[ToolContext], Awaitable[Outcome]]
    preview: Callable[[ToolContext], Awaitable[Preview]] | None
    plan: Callable[[ToolContext], Awaitable[Call]] | None = None


class ToolTable:
    """The tools that an agent can call: fixed ones, and late ones that come and go.

    Args:
        fixed: The tools of the whole session, in the order that the model reads.
        late: Returns the present tools besides the fixed ones. This function
            is called often, so it only reads memory. A tool is left out if an endpoint would refuse
            its name, if another tool has the name, if its description and schema are too long, or
            if there are too many tools.
        is_lean: Whether the tools are few and described shortly, because the model is small.
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
        """The tools of the moment, the fixed ones first."""
        return tuple(self._now().values())

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """Their specs, in the same order; the same object as long as nothing changes."""
        self._now()
        return self._specs

    def has(self, name: str) -> bool:
        """Whether the agent can call the tool at the moment."""
        return name in self._fixed or name in self._now()

    def polls(self, name: str) -> bool:
        """Whether equal calls of the tool in a row are normal."""
        tool = self._fixed.get(name) or self._now().get(name)
        return tool is not None and tool.polls

    def bind(self, name: str, arguments: str) -> Call:
        """Find a tool and check its arguments.

        Raises:
            ToolError: The tool is unknown (with the closest name) or has departed, or its
                arguments are bad.
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
    """Say why a late tool cannot join the tools with the ``taken`` names; empty if it can."""
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
    """The beginning of a name that a model made up, for an error message."""
    return name if len(name) <= _MAX_QUOTE else name[: _MAX_QUOTE - 1] + "…"


class Background(Protocol):
    """Keeps commands that outlive their calls."""

    async def start(self, command: str, run: Run, context: ToolContext) -> Outcome:
        """Start a command, and return once the command keeps running or has ended.

        Raises:
            ToolError: The command cannot start, or too many commands run.
        """
        ...


class NoBackground:
    """Keeps no command. Implements ``Background``."""

    async def start(self, command: str, run: Run, context: ToolContext) -> Outcome:
        """Refuse the command.

        Raises:
            ToolError: Always.
        """
        del command, run, context
        raise ToolError("background commands are not available here; run it without `background`")


NOWHERE = NoBackground()
