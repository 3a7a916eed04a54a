"""What a tool is: a spec, typed arguments, facts for the policy, and an asynchronous run (H44)."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from indwell.context.injections import Frame
from indwell.errors import ToolError
from indwell.messages import ToolSpec
from indwell.policy.approvals import Chosen
from indwell.policy.call_facts import Effect
from indwell.policy.widening import NOTHING_MORE, Widening
from indwell.sandbox.confinement import Confinement
from indwell.tools.arguments import Arguments, of_struct
from indwell.tools.seen import KnownTexts
from indwell.workspace.base import AppliedChange, Workspace

_MAX_QUOTE = 60  # characters of a name that a complaint repeats


class ToolFacts(msgspec.Struct, frozen=True):
    """What one call is about to do, for the policy and for the person who is asked.

    Attributes:
        tool: The tool's name.
        effect: Read, edit or run.
        paths: Files or folders the call touches, as the model wrote them.
        command: The shell text that would run; empty unless ``effect`` is ``run``.
        cwd: Where it would run; empty unless ``effect`` is ``run``.
        subject: What to show people instead of the paths, such as a search pattern.
        wants: What it is to do beyond the sandbox, as the model asks for it.
        why: The model's words for that.
        may_leave: It can read a file that a link of the workspace leads to, if the user allows it.
        keeps: For whom it would keep something beyond the session; empty if it keeps nothing.
        asks: It asks the user something itself, so no other call runs beside it.
        background: What it runs goes on when the call has ended.
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


class Picture(msgspec.Struct, frozen=True):
    """What a tool shows the model; ``data`` is base64 of the bytes of ``media_type``."""

    media_type: str
    data: str


class Preview(msgspec.Struct, frozen=True):
    """What a call would change.

    Attributes:
        diff: Unified, whole; empty if that cannot be said.
        by_hunk: Can the call be run with some of its hunks only?
        before: The text that it would change; None: there is none, or it is too large.
    """

    diff: str = ""
    by_hunk: bool = False
    before: str | None = None


Marks: TypeAlias = Mapping[Path, object]
"""What the disk tells of each file: another value says that the file was changed."""


class Succeeded(msgspec.Struct, frozen=True):
    """A command that came to its end with exit code 0.

    Attributes:
        saw: The marks of the files that the turn has changed, right before it ran.
        stale: Files of which it saw an older text: they are not saved.
    """

    saw: Marks = {}
    stale: frozenset[Path] = frozenset()


class Outcome(msgspec.Struct, frozen=True):
    """What a tool gave.

    Attributes:
        text: For the model.
        is_error: The tool could not do it.
        figure: One short phrase for the user, such as ``+3 −1`` or ``12 matches``.
        diff: Unified diff of what was changed, whole; empty for other tools.
        counts: Lines added and removed, if there is one change and they were counted.
        changes: Files as the edit left them.
        pictures: For a model that takes some; the text says what they show.
        said: What the user said in the call; the model gets it as the user's own words.
        frame: The tag that the text stands in; None is none.
        succeeded: It ran a command that came to its end with exit code 0.
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
    """What a tool may use; a call is cancelled as an asyncio task.

    Attributes:
        workspace: The user's files.
        seen: What the model has read.
        spill: Keep a full text that is cut for the model; gives the path where it can be read.
        on_output: Hears a command's output while it runs.
        read_roots: Folders besides the workspace that may be read (the session's spill folder).
        hidden: Is this path, as displayed, kept from the model? Searches leave it out.
        takes_pictures: Does the model?
        facts: What this call was allowed to do; the call itself sets it.
        most_chars: Characters that one result may have; what goes on is told.
        judged: Where each path of the call led when it was decided on, by the path as written.
        confinement: The bounds of what it runs; None is none, which somebody allowed.
        unasked: Nobody was asked about what it runs, as that only reads.
        hide: A text without the secrets in it, for what is cut: half a secret has no form.
        chosen: The hunks of its preview that the user allowed, if not all of them.
        covered: What a command changes within this block can be reviewed and taken back.
        turn: The call's, 1-based.
        call_id: The id of the call.
        look: The marks of the files that the turn has changed; blocks.
        tell: Hears an event of the agent's (``agent.core.events``), for the tools that act on it.
    """

    workspace: Workspace
    seen: KnownTexts
    spill: Callable[[str, str], Awaitable[Path]]
    on_output: Callable[[str], None]
    read_roots: tuple[Path, ...] = ()
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
        """The file that the model means: the one that was decided on, if a link moved since.

        Raises:
            ToolError: It leads outside the workspace, or is no path.
        """
        judged = self.judged.get(written)
        if judged is not None and any(map(judged.is_relative_to, self.workspace.roots)):
            return judged
        return self.workspace.resolve(written)


A = TypeVar("A")


class Tool(Generic[A]):
    """One tool: how it is told to the model and how it runs.

    Args:
        name: As the model calls it.
        description: For the model; short.
        arguments: What it takes; a frozen struct that forbids unknown fields, or ``Arguments``.
        effect: What it does to the world.
        facts: What a call is about to do.
        run: Does it; raises ToolError for what the model should hear.
        preview: What the call would change, for a person to confirm; edits only.
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
    ) -> None:
        self._arguments = arguments if isinstance(arguments, Arguments) else of_struct(arguments)
        schema = self._arguments.schema
        self.spec = ToolSpec(name=name, description=description, parameters=schema)
        self.effect = effect
        self._facts = facts
        self._run = run
        self._preview = preview

    def bind(self, arguments: str) -> Call:
        """Check the model's JSON against the tool's arguments.

        Raises:
            ToolError: The text is no JSON, or does not fit; it is shown with the complaint (H40).
        """
        value, ours = self._arguments.read(self.spec.name, arguments)
        facts = self._facts(value)
        preview = self._preview
        return Call(
            effect=self.effect,
            arguments=ours,
            facts=facts,
            run=lambda context: self._run(value, msgspec.structs.replace(context, facts=facts)),
            preview=None if preview is None else lambda context: preview(value, context),
        )


class Call(msgspec.Struct, frozen=True):
    """A tool with its checked arguments, ready to be decided on and run.

    Attributes:
        effect: What it does to the world.
        arguments: The JSON of the call under our own names: what permission, audit and people see.
        facts: What it is about to do.
        run: Does it.
        preview: What it would change; None for what is no edit.
    """

    effect: Effect
    arguments: str
    facts: ToolFacts
    run: Callable[[ToolContext], Awaitable[Outcome]]
    preview: Callable[[ToolContext], Awaitable[Preview]] | None


class Registry:
    """The table of tools of one session, in a stable order."""

    def __init__(self, tools: Sequence[Tool[Any]]) -> None:
        self._tools: Mapping[str, Tool[Any]] = {tool.spec.name: tool for tool in tools}

    @property
    def tools(self) -> tuple[Tool[Any], ...]:
        """All of them, in order: a sub-agent's table is made of another one's."""
        return tuple(self._tools.values())

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """Schemas in a stable order."""
        return tuple(tool.spec for tool in self._tools.values())

    def bind(self, name: str, arguments: str) -> Call:
        """Find a tool and check its arguments.

        Raises:
            ToolError: Unknown tool (with the closest names), or bad arguments.
        """
        tool = self._tools.get(name)
        if tool is None:
            near = difflib.get_close_matches(_short(name), self._tools, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise ToolError(
                f"there is no tool {_short(name)!r}{hint} The tools are: {', '.join(self._tools)}"
            )
        return tool.bind(arguments)


def _short(name: str) -> str:
    """A name of the model's, as much as a complaint repeats of it."""
    return name if len(name) <= _MAX_QUOTE else name[: _MAX_QUOTE - 1] + "…"
