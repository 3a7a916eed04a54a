"""Parses the Markdown file of a named sub-agent: its task, model and tools. Pure.

A file can only tighten: no value gives a sub-agent more than the call without its name has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

import msgspec

from indwell.context.tokens import estimate_tokens
from indwell.context.untrusted_text import neutralise
from indwell.lazy_pattern import lazy_pattern
from indwell.policy.approvals import short_line
from indwell.skills.front_matter import BadFrontMatter, read_document

MOST_BODY = 16_000  # characters of what it is told; as many as of an instruction file
LINE_TOKENS = 25  # of a line of the catalogue, its name included
MOST_LISTED = 12  # lines of a catalogue

Origin: TypeAlias = Literal["user", "indwell", "workspace"]
"""Whose it is; of two with one name the first of these wins."""

_NAME = lazy_pattern(r"[a-z0-9][a-z0-9_-]{0,39}")
_OTHERS: Mapping[str, str] = {
    "read": "read_file",
    "edit": "edit_file",
    "multiedit": "edit_file",
    "write": "write_file",
    "skill": "load_skill",
    "todowrite": "todo",
}
"""What tools of ours are called in files that were written for another harness, in lower case."""


class Definition(msgspec.Struct, frozen=True):
    """A named sub-agent.

    Attributes:
        name: As the model calls it.
        description: When to use it, on one line.
        body: What it is told besides its task.
        origin: Whose it is.
        path: Where it stands, as people call it; empty for what ships.
        model: A model of the same endpoint; empty for the usual one. Only of the user's files.
        tools: Names of those it may have; None for all.
        read_only: May it only look?
        rounds: Model calls at most; None for as many as the settings say.
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
        """Its line in the catalogue: nothing in it is a tag, or shows other than it is."""
        marks = " (only reads)" if self.read_only else ""
        words = neutralise(f"{self.name}{marks}: {self.description}")
        line = short_line(words, 4 * LINE_TOKENS)
        while estimate_tokens(line) > LINE_TOKENS:
            line = f"{line[: len(line) * 4 // 5].rstrip()}…"
        return line


def read_definition(text: str, *, stem: str, origin: Origin, path: str = "") -> Definition:
    """Read the text of a file; ``stem`` is its name without the end.

    Raises:
        BadFrontMatter: It cannot be used; the sentence says why, without the file's name.
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
    """The one that counts of each name: the user's, then what ships, then the workspace's."""
    order: tuple[Origin, ...] = ("user", "indwell", "workspace")
    ranked = sorted(found, key=lambda one: (order.index(one.origin), one.name, one.path))
    known: dict[str, Definition] = {}
    for one in ranked:
        known.setdefault(one.name, one)
    return known


def catalogue(known: Mapping[str, Definition]) -> tuple[str, ...]:
    """A line each, at most ``MOST_LISTED``; of more it is said that there are."""
    lines = tuple(one.line for one in known.values())
    n_more = len(lines) - MOST_LISTED
    return lines if n_more <= 0 else (*lines[:MOST_LISTED], f"and {n_more} more")


def workspace_catalogue(known: Mapping[str, Definition]) -> tuple[str, ...]:
    """As ``catalogue``, of those that the workspace brings along."""
    return catalogue({name: one for name, one in known.items() if one.origin == "workspace"})


def _own_name(tool: str) -> str:
    """A tool by our name for it; a name that nobody knows gives nothing."""
    lower = tool.lower()
    return _OTHERS.get(lower, lower)
