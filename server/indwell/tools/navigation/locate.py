"""Creates a question about code from a tool call: finds the file's text, and the symbol."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from indwell.errors import ToolError
from indwell.files.spelling import quoted
from indwell.lazy_pattern import lazy_pattern
from indwell.navigation.navigator import Action, CodeQuestion, Navigated, Navigator
from indwell.tools.base import ToolContext
from indwell.tools.searching.grep import search
from indwell.tools.searching.grep_report import GrepQuery
from indwell.tools.searching.patterns import search_places
from indwell.workspace.base import Snapshot
from indwell.workspace.paths import display
from indwell.workspace.text import document_lines, shown

MOST_FILES = 200  # At most 200 files that contain a name are parsed.
NEAR = 10  # If a line number is wrong, the symbol is searched for within 10 lines.
_LAST_NAME = lazy_pattern(r"([^\W\d]\w*)\W*$")
_SHOWN = 200  # An error message shows at most 200 characters of a line of code.


class Navigate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of ``navigate``."""

    action: Action
    path: str = ""
    line: Annotated[int, msgspec.Meta(ge=1)] | None = None
    symbol: Annotated[str, msgspec.Meta(description="a name; for symbols, a part of it")] = ""
    new_name: str = ""


class WorkspaceTexts:
    """The texts that a call may see. Implements ``Texts``.

    Args:
        context: The context of the call.
    """

    def __init__(self, context: ToolContext) -> None:
        self._context = context

    async def snapshot(self, path: Path) -> Snapshot | None:
        """Return a file of the workspace, or None if the file is hidden, outside or unreadable."""
        context = self._context
        roots = context.workspace.roots
        if not any(map(path.is_relative_to, roots)) or context.hidden(display(path, roots)):
            return None
        try:
            path = context.workspace.resolve(str(path))  # A link may lead out, or to a secret file.
            if context.hidden(display(path, roots)):
                return None
            return await context.workspace.read(path)
        except ToolError:
            return None

    async def read(self, path: Path) -> str | None:
        """Return a file's text; see ``Texts``."""
        found = await self.snapshot(path)
        return None if found is None else found.text

    def unsaved(self) -> Mapping[Path, str]:
        """Return the unsaved buffers; see ``Texts``."""
        context = self._context
        roots = context.workspace.roots
        found = context.workspace.unsaved()
        return {
            path: text
            for path, text in found.items()
            if is_inside(path, roots) and not context.hidden(display(path, roots))
        }

    async def containing(self, word: str) -> Sequence[Path]:
        """Return the files that contain a word, including unsaved files; see ``Texts``."""
        query = GrepQuery(pattern=word, mode="files", ignore_case=True, is_plain=True)
        places = await search_places(self._context, "")
        found = [await search(query, place, self._context) for place in places]
        paths = (one.place.root / name for one in found for name in sorted(one.hits.counts))
        return tuple(dict.fromkeys(paths))[:MOST_FILES]


async def question_of(
    arguments: Navigate, context: ToolContext, navigator: Navigator
) -> CodeQuestion | Navigated:
    """Return the question of a call, or a list of symbols if several have the name.

    Raises:
        ToolError: An argument is missing, or the symbol cannot be found.
    """
    texts, action, name = WorkspaceTexts(context), arguments.action, arguments.symbol.strip()
    if action == "rename" and not arguments.new_name.strip():
        raise ToolError("rename needs new_name")
    if action == "problems" and not arguments.path:
        raise ToolError("problems needs the path of a file")
    if action not in {"symbols", "problems"} and not name:
        raise ToolError(f"{action} needs the name of a symbol, with its path and line if known")
    if not arguments.path:
        if not name:
            raise ToolError("symbols needs the path of a file, or a part of a name")
        return await _by_name(arguments, texts, navigator)
    path = context.resolve(arguments.path)
    text = (await context.workspace.read(path)).text
    question = CodeQuestion(action, texts, path, text, symbol=name, new_name=arguments.new_name)
    if action in {"symbols", "problems"}:
        return question
    return await asyncio.to_thread(_at_symbol, question, arguments)


async def _by_name(
    arguments: Navigate, texts: WorkspaceTexts, navigator: Navigator
) -> CodeQuestion | Navigated:
    """Find the symbol by its name; if there is exactly one, ask about that symbol."""
    name = arguments.symbol.strip()
    bare = bare_name(name)
    found = await navigator.ask(CodeQuestion("symbols", texts, symbol=bare))
    if arguments.action == "symbols":
        return found
    places = found.answer.places if found.answer is not None else ()
    exact = tuple(one for one in places if one.name == bare)
    if inside := bare_name(name[: -len(bare)]):
        exact = tuple(one for one in exact if one.inside == inside) or exact
    if not exact:
        raise ToolError(f"no symbol {quoted(name)} is defined in the workspace; say path and line")
    assert found.answer is not None
    if arguments.action == "definition" or len(exact) > 1:
        return Navigated(msgspec.structs.replace(found.answer, places=exact), found.notes)
    (place,) = exact
    text = await texts.read(place.path)
    if text is None:
        raise ToolError(f"the definition of {quoted(name)} cannot be read; say path and line")
    question = CodeQuestion(
        arguments.action, texts, place.path, text, symbol=bare, new_name=arguments.new_name
    )
    at = msgspec.structs.replace(arguments, path=str(place.path), line=place.line)
    return await asyncio.to_thread(_at_symbol, question, at)


def _at_symbol(question: CodeQuestion, arguments: Navigate) -> CodeQuestion:
    """Find the symbol in the text: near the given line, or at the first occurrence."""
    written, bare = arguments.symbol.strip(), bare_name(arguments.symbol)
    if not bare:
        raise ToolError(f"{quoted(written)} is not the name of a symbol")
    lines = document_lines(question.text)
    word = re.compile(rf"(?<!\w){re.escape(bare)}(?!\w)")
    for number in _lines_by_nearness(len(lines), arguments.line):
        line = lines[number]
        at = line.find(written)  # The whole of `module.name` is tried first.
        found = word.search(line, at + len(written) - len(bare) - 1 if at > 0 else 0)
        found = found or word.search(line)
        if found is not None:
            return msgspec.structs.replace(question, line=number, column=found.start(), symbol=bare)
    if arguments.line is None:
        raise ToolError(f"{quoted(arguments.path)} has no {quoted(bare)}")
    number = min(arguments.line, len(lines))
    reads = shown(lines[number - 1].strip()[:_SHOWN])
    raise ToolError(
        f"{quoted(arguments.path)} has no {quoted(bare)} near line {arguments.line}, which reads "
        f"{reads!r}"
    )


def _lines_by_nearness(n_lines: int, line: int | None) -> Iterator[int]:
    """Yield line numbers from 0: all in order, or lines near ``line``, the nearest first."""
    if line is None:
        yield from range(n_lines)
        return
    near = range(max(0, line - 1 - NEAR), min(n_lines, line + NEAR))
    yield from sorted(near, key=lambda number: abs(number - line + 1))


def bare_name(symbol: str) -> str:
    """Return the last name in a dotted name or a call, such as ``run`` in ``app().run(x)``."""
    written = symbol.strip()
    while written.endswith(")") and (start := _start_of_arguments(written)) > 0:
        written = written[:start]
    found = _LAST_NAME.search(written)
    return found[1] if found else ""


def _start_of_arguments(call: str) -> int:
    """Return where the last pair of parentheses begins, or -1 for unbalanced parentheses."""
    depth = 0
    for at in range(len(call) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(call[at], 0)
        if not depth:
            return at
    return -1


def is_inside(path: Path, roots: Sequence[Path]) -> bool:
    """Return whether a path is inside the workspace."""
    return any(map(path.is_relative_to, roots))
