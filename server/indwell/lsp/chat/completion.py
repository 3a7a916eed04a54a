"""Completes file names, line ranges and commands in a chat document."""

from __future__ import annotations

import asyncio
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from indwell.context.attachments import STATE_MENTIONS
from indwell.errors import ToolError, UserError
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import EFFORTS, Effort
from indwell.service.mentions import files_below, quoted_path
from indwell.settings.model import Mode

SHOWN = 100  # the limit of names in one answer; the editor asks again after the next key press


class NameIndex:
    """An index of file names; call the constructor in a thread, because it takes 50 ms.

    Args:
        names: The names, sorted.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.names = tuple(names)
        lower = [name.lower() for name in self.names]
        self._whole = _lines(lower)
        self._bases = _lines([name.rpartition("/")[2] for name in lower])
        self._shortest = tuple(sorted(self.names, key=len)[:SHOWN])

    def has(self, name: str) -> bool:
        """Return whether the index contains the name."""
        at = bisect_left(self.names, name)
        return at < len(self.names) and self.names[at] == name

    def matching(self, begun: str) -> list[str]:
        """Return the best matches; names whose last part begins with the typed text come first."""
        wanted = begun.lower()
        if "\n" in wanted:
            return []
        if not wanted:
            return list(self._shortest)
        chosen: dict[int, None] = {}
        for lines, sought in (
            (self._bases, f"\n{wanted}"),
            (self._whole, f"\n{wanted}"),
            (self._bases, wanted),
            (self._whole, wanted),
        ):
            found = [at for at in _found(lines, sought) if at not in chosen]
            found.sort(key=lambda at: (len(self.names[at]), self.names[at]))
            chosen |= dict.fromkeys(found[: SHOWN - len(chosen)])
            if len(chosen) >= SHOWN:
                break
        return [self.names[at] for at in chosen]


class _Lines(NamedTuple):
    text: str  # All names, each after a line break.
    starts: array[int]


def _lines(names: Sequence[str]) -> _Lines:
    starts = array("q", accumulate((len(one) + 1 for one in names), initial=0))
    return _Lines("".join(f"\n{one}" for one in names), starts)


def _found(lines: _Lines, sought: str) -> Iterator[int]:
    """Yield the first line numbers that match a text, at most twice as many as are shown."""
    at = lines.text.find(sought)
    for _ in range(2 * SHOWN):
        if at < 0:
            return
        number = bisect_right(lines.starts, at) - 1
        yield number
        at = lines.text.find(sought, lines.starts[number + 1])


MOST_SHOWN = 50  # the limit of line ranges in one answer
_LINES_LOOKED_AT = 20_000

COMMANDS: tuple[tuple[str, str], ...] = (
    ("/new", "begin a new chat"),
    ("/context", "show what fills the context window"),
    ("/compact", "shorten the conversation"),
    ("/continue", "continue a turn that was interrupted"),
    ("/mode ask", "ask before each edit"),
    ("/mode review", "apply edits; you accept or reject them later"),
    ("/mode auto", "apply and accept edits at once"),
    ("/mode plan", "read only"),
    ("/effort low", "let the model think little: faster and cheaper"),
    ("/effort medium", "let the model think as much as usual"),
    ("/effort high", "let the model think much"),
    ("/effort auto", "let the model decide how much it thinks"),
    ("/tasks", "list the tasks of the workspace"),
    ("/tasks add ", "add a task, with its title"),
    ("/tasks run", "run the tasks in sessions of their own"),
    ("/worktree", "list the worktrees of the folder"),
    ("/worktree new", "let the next new session work in a copy of the folder"),
    ("/worktree merge", "bring the changes of a worktree into the folder, for review"),
    ("/stop", "stop the running turn"),
)
"""All commands of a chat document."""

_COMMAND = lazy_pattern(r"^/[a-z0-9._: -]{0,140}$")
_FILE = lazy_pattern(r"(?:^|[\s(])@(?P<begun>\"[^\"\n]{0,200}|[^\s@\"#]{0,200})$")
_RANGE = lazy_pattern(r"(?:^|[\s(])@(?:\"(?P<q>[^\"\n]+)\"|(?P<p>[^\s@\"#]+))#L?(?P<begun>[\d-]*)$")
_SYMBOL = lazy_pattern(
    r"^(?P<indent>[ \t]*)(?:export |pub |public |private |static |async |default )*"
    r"(?:def|class|function|func|fn|struct|impl|trait|interface|enum|module|type)\s+(?P<name>[\w.]+)"
)


class CompletionChoice(NamedTuple):
    """A completion: ``text`` replaces ``n_before`` characters before the cursor."""

    label: str
    detail: str
    text: str
    n_before: int
    kind: int


class NamedLines(NamedTuple):
    """A named range of lines, such as a function; the line numbers are 1-based and inclusive."""

    name: str
    first: int
    last: int


_FILE_KIND, _KEYWORD_KIND, _REFERENCE_KIND = 17, 14, 18  # values of LSP's CompletionItemKind


def completed(
    line: str,
    *,
    is_draft_start: bool,
    names: Callable[[], NameIndex],
    lines_of: Callable[[str], Sequence[NamedLines]],
    skills: Sequence[tuple[str, str]] = (),
    resources: Sequence[tuple[str, str]] = (),
) -> tuple[CompletionChoice, ...]:
    """Return the completions of a line.

    Args:
        line: The document's line up to the cursor.
        is_draft_start: Whether the line is the first line of the draft.
        names: Returns the names of the workspace's files.
        lines_of: Returns the named lines of a file.
        skills: The skills and prompts that the user can call like commands.
        resources: The resources of MCP servers, as ``server:uri``, with their descriptions.
    """
    if is_draft_start and _COMMAND.match(line):
        fits = (one for one in (*COMMANDS, *skills) if one[0].startswith(line.rstrip() or "/"))
        return tuple(
            CompletionChoice(name, said, name, len(line), _KEYWORD_KIND) for name, said in fits
        )
    if (found := _RANGE.search(line)) is not None:
        path = found["q"] or found["p"]
        n_before = len(line) - line.rindex("#")
        return tuple(
            CompletionChoice(
                f"#L{first}-{last}", name, f"#L{first}-{last}", n_before, _REFERENCE_KIND
            )
            for name, first, last in lines_of(path)[:MOST_SHOWN]
        )
    if (found := _FILE.search(line)) is not None:
        begun = found["begun"]
        chosen = names().matching(begun.strip('"'))
        offered = (*STATE_MENTIONS, *resources)
        state = [one for one in offered if one[0].startswith(begun)][:SHOWN]
        n_before = len(begun) + 1
        return (
            *(
                CompletionChoice(f"@{name}", said, f"@{name}", n_before, _KEYWORD_KIND)
                for name, said in state
            ),
            *(
                CompletionChoice(f"@{name}", "", f"@{quoted_path(name)}", n_before, _FILE_KIND)
                for name in chosen
            ),
        )
    return ()


def ranged_path(line: str) -> str:
    """Return the file whose lines are to be completed, or an empty text if there is no file."""
    found = _RANGE.search(line)
    return (found["q"] or found["p"]) if found is not None else ""


def named_lines(text: str) -> tuple[NamedLines, ...]:
    """Find definitions in a source text by parsing lines; use a thread for long texts."""
    lines = text.split("\n")[:_LINES_LOOKED_AT]
    filled = list(accumulate((n if one.strip() else 0 for n, one in enumerate(lines, 1)), max))
    found: list[NamedLines] = []
    open_: list[tuple[int, int]] = []  # the open entries of ``found``, each with its indent
    for number, line in enumerate(lines, start=1):
        match = _SYMBOL.match(line[:200])
        if match is None:
            continue
        indent = len(match["indent"].expandtabs(4))
        _end(found, open_, indent, number - 1, filled)
        open_.append((len(found), indent))
        found.append(NamedLines(match["name"], number, number))
    _end(found, open_, 0, len(lines), filled)
    return tuple(found)


def _end(
    found: list[NamedLines],
    open_: list[tuple[int, int]],
    indent: int,
    last: int,
    filled: Sequence[int],
) -> None:
    """End the open ranges with at least this indent, at the last non-blank line."""
    while open_ and open_[-1][1] >= indent:
        place, _ = open_.pop()
        one = found[place]
        found[place] = one._replace(last=max(one.first, filled[last - 1]))


Name: TypeAlias = Literal["new", "stop", "context", "mode", "effort"]

EFFORT_WORDS: Mapping[str, Effort] = {"auto": "", **{one: one for one in EFFORTS}}
"""The words that may follow ``/effort``, with the effort of each."""

_COMMAND_LINE = lazy_pattern(r"/([a-z]+)(?:[ \t]+([a-z]+))?")
# These commands are sent as prompts, because the session handles them.
_PROMPTS = frozenset({"compact", "continue", "tasks", "worktree"})


class ChatCommand(NamedTuple):
    """A chat command: ``/mode`` sets ``mode``, and ``/effort`` with a value sets ``effort``."""

    name: Name
    mode: Mode | None = None
    effort: Effort | None = None


def command_of(words: str, skills: Collection[str] = ()) -> ChatCommand | None:
    """Parse a command; return None if the text is a prompt or calls one of ``skills``.

    Raises:
        UserError: The text looks like a command but is unknown.
    """
    match = _COMMAND_LINE.fullmatch(words)
    if match is None or match[1] in _PROMPTS:
        return None
    name, value = match[1], match[2]
    if name == "mode":
        if value not in get_args(Mode):
            modes = ", ".join(f"`/mode {one}`" for one in get_args(Mode))
            raise UserError(f"use one of {modes}")
        return ChatCommand("mode", value)  # type: ignore[arg-type] # see the test above
    if name == "effort" and (value is None or value in EFFORT_WORDS):
        return ChatCommand("effort", effort=EFFORT_WORDS[value] if value else None)
    if name == "effort":
        raise UserError(f"use one of {', '.join(f'`/effort {one}`' for one in EFFORT_WORDS)}")
    if name in {"new", "stop", "context"} and value is None:
        return ChatCommand(name)  # type: ignore[arg-type] # see the test above
    if value is not None:
        return None  # The text is a sentence that begins with a slash.
    if name in skills:
        return None
    known = ", ".join(f"`{one}`" for one, _ in COMMANDS)
    raise UserError(f"unknown command `/{name[:40]}`; the commands are {known}")


KEPT_S = 20.0  # the time, in seconds, for which a list of names is used
MOST = 50_000  # the limit of names in a list

Begin = Callable[[Coroutine[Any, Any, None]], None]


class FileNames:
    """Lists file names relative to the first folder, without ignored files.

    Args:
        begin: Starts the listing in the background.
        monotonic: Returns the time of a monotonic clock in seconds.
    """

    def __init__(self, begin: Begin, monotonic: Callable[[], float]) -> None:
        self._begin, self._monotonic = begin, monotonic
        self._names = NameIndex()
        self._at = float("-inf")
        self._is_listing = False
        self.listed = asyncio.Event()

    def known(self, roots: tuple[Path, ...]) -> NameIndex:
        """Return the names known now, without waiting; renew an old list in the background."""
        if roots and not self._is_listing and self._monotonic() - self._at > KEPT_S:
            self._is_listing = True
            self._begin(self._list(roots))
        return self._names

    def has(self, name: str) -> bool:
        """Return whether the list that is known now contains the name."""
        return self._names.has(name)

    async def _list(self, roots: tuple[Path, ...]) -> None:
        try:
            found = await files_below("./", roots[0], roots, enough=MOST)
            self._names = await asyncio.to_thread(lambda: NameIndex(sorted(found[:MOST])))
        except ToolError:
            self._names = NameIndex()  # Without ripgrep, no names are listed.
        finally:
            self._is_listing = False
            self._at = self._monotonic()
            self.listed.set()
