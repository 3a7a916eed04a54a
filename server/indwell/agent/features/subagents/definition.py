"""Reads definitions of named sub-agents from Markdown, and lists them for the model. Pure.

A definition can only add restrictions; an unnamed sub-agent has the most permissions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

import msgspec

from indwell.agent.core import events
from indwell.context.tokens import estimate_tokens
from indwell.context.untrusted_text import neutralise, short_line
from indwell.lazy_pattern import lazy_pattern
from indwell.prepared_types import prepared
from indwell.skills.front_matter import BadFrontMatter, read_document

# The limit of characters for a definition's instructions, as for instruction files.
MOST_BODY = 16_000
LINE_TOKENS = 25  # the limit of tokens for one line of the catalogue, including the name
MOST_LISTED = 12  # the limit of lines for a catalogue

Origin: TypeAlias = Literal["user", "indwell", "workspace"]
"""The owner of a definition; among definitions of one name, the definition of the first owner in
this list is used.
"""

_NAME = lazy_pattern(r"[a-z0-9][a-z0-9_-]{0,39}")
_OTHERS: Mapping[str, str] = {
    "read": "read_file",
    "edit": "edit_file",
    "multiedit": "edit_file",
    "write": "write_file",
    "skill": "load_skill",
    "todowrite": "todo",
}
"""Indwell's names for the tools of other agents, by these agents' names in lower case."""


class Definition(msgspec.Struct, frozen=True):
    """The definition of a named sub-agent.

    Attributes:
        name: The name that the model uses.
        description: A line that says when to use the sub-agent.
        body: The sub-agent's instructions, in addition to the task.
        origin: The owner of the definition.
        path: The path of the definition's file, as shown to people, or empty if Indwell ships the
            definition.
        model: A model of the same endpoint, or empty for the usual model. Only files of the user
            may set it.
        tools: Names of the tools that the sub-agent may have, or None for all tools.
        read_only: Whether the sub-agent may only read.
        rounds: The limit of model calls, or None for the limit in the settings.
    """

    name: str
    description: str
    body: str
    origin: Origin
    path: str = ""
    model: str = ""
    tools: frozenset[str] | None = None
    read_only: bool = False
    rounds: int | None = None

    @property
    def line(self) -> str:
        """The sub-agent's line in the catalogue, without tags and invisible characters."""
        marks = " (only reads)" if self.read_only else ""
        words = neutralise(f"{self.name}{marks}: {self.description}")
        line = short_line(words, 4 * LINE_TOKENS)
        while estimate_tokens(line) > LINE_TOKENS:
            line = f"{line[: len(line) * 4 // 5].rstrip()}…"
        return line


def read_definition(text: str, *, stem: str, origin: Origin, path: str = "") -> Definition:
    """Parse the text of a definition's file; ``stem`` is the file's name without the suffix.

    Raises:
        BadFrontMatter: The file cannot be used; the message says why, without the file's name.
    """
    document = read_document(text)
    name = (document.text("name") or stem).lower()
    if not _NAME.fullmatch(name):
        raise BadFrontMatter(
            f"the name {name[:40]!r} has to be small letters, digits, `-` and `_`, 40 at most"
        )
    body = document.body.strip()
    if not body:
        raise BadFrontMatter("there is no text behind the front matter: say what it is to do")
    if len(body) > MOST_BODY:
        raise BadFrontMatter(f"its text has more than {MOST_BODY:,} characters; make it shorter")
    tools = document.names("tools")
    rounds = document.number("rounds")
    if rounds == 0:
        raise BadFrontMatter("`rounds` has to be 1 or more")
    return Definition(
        name=name,
        description=document.text("description"),
        body=body,
        origin=origin,
        path=path,
        model=document.text("model") if origin == "user" else "",
        tools=None if tools is None else frozenset(map(_own_name, tools)),
        read_only=bool(document.flag("read_only")),
        rounds=rounds,
    )


def known_by_name(found: Iterable[Definition]) -> Mapping[str, Definition]:
    """Return the first definition of each name, in the order: user, Indwell, workspace."""
    order: tuple[Origin, ...] = ("user", "indwell", "workspace")
    ranked = sorted(found, key=lambda one: (order.index(one.origin), one.name, one.path))
    known: dict[str, Definition] = {}
    for one in ranked:
        known.setdefault(one.name, one)
    return known


def catalogue(known: Mapping[str, Definition]) -> tuple[str, ...]:
    """Return a line for each definition, up to ``MOST_LISTED``, and a note about the others."""
    lines = tuple(one.line for one in known.values())
    n_more = len(lines) - MOST_LISTED
    return lines if n_more <= 0 else (*lines[:MOST_LISTED], f"and {n_more} more")


def workspace_catalogue(known: Mapping[str, Definition]) -> tuple[str, ...]:
    """Return the ``catalogue`` lines of the definitions in the workspace."""
    return catalogue({name: one for name, one in known.items() if one.origin == "workspace"})


def _own_name(tool: str) -> str:
    """Return Indwell's name for a tool, or an empty text for an unknown tool."""
    lower = tool.lower()
    return _OTHERS.get(lower, lower)


NAME = "agent"  # the name of the tool that starts a sub-agent
GENERAL = "general"  # the displayed name of a sub-agent without a name
NAME_LIMIT = 40  # the limit of characters for a sub-agent's name
SUBJECT_LIMIT = 200  # the limit of characters for a running task's description


class _Begun(msgspec.Struct, frozen=True):
    """The arguments of the tool ``agent`` that people see: the name and the task."""

    task: str
    name: str = ""


def subject(name: str, task: str) -> str:
    """Describe a call of the tool ``agent`` for people, by name and task."""
    return f"{short_line(name, NAME_LIMIT) or GENERAL}: {short_line(task, SUBJECT_LIMIT)}"


def subject_of(arguments: str) -> str:
    """Describe a call of the tool ``agent`` from its JSON; return empty if the JSON is invalid."""
    try:
        begun = msgspec.json.decode(arguments, type=prepared(_Begun))
    except (msgspec.DecodeError, RecursionError):
        return ""
    return subject(begun.name, begun.task)


def next_name(target: str, begun: dict[str, int]) -> str:
    """Return the name of a new sub-agent; the second with the name `explore` is `explore 2`.

    The function counts the sub-agent in ``begun``, the number of sub-agents by name in a turn.
    """
    name = target.partition(":")[0][:NAME_LIMIT]
    number = begun[name] = begun.get(name, 0) + 1
    return f"{name} {number}" if number > 1 else name


class SubagentNames:
    """Finds the sub-agents' names in the events of a turn."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._begun: dict[str, int] = {}

    def of(self, event: events.Event) -> str:
        """Return the name of an event's sub-agent, or an empty text for the main agent.

        The caller must pass all events of a turn in order.
        """
        if isinstance(event, events.ToolStarted) and event.name == NAME and not event.agent:
            self._names[event.id] = next_name(event.target, self._begun)
        return self._names.get(event.agent, GENERAL) if event.agent else ""
