"""Files that a prompt mentions as ``@path``: finds them, checks the rules and attaches them."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from indwell.bounds.secrets import OtherNames
from indwell.context.attachments import Listing, Selection
from indwell.context.untrusted_text import one_line
from indwell.errors import ToolError
from indwell.lazy_pattern import lazy_pattern
from indwell.policy.paths import matches_any
from indwell.settings.model import Settings
from indwell.tools.searching.patterns import SearchPlace
from indwell.tools.searching.ripgrep import listen
from indwell.workspace.base import Workspace
from indwell.workspace.paths import display
from indwell.workspace.text import document_lines

MOST = 20  # At most 20 files are attached to one prompt; the model can read more files itself.
_MENTION = lazy_pattern(
    r"(?<![\w@/.`])@(?:\"(?P<quoted>[^\"\n]{1,400})\"|(?P<bare>[^\s@\"'`<>()\[\]{},;#]{1,400}))"
    r"(?:#L(?P<first>\d{1,7})(?:-L?(?P<last>\d{1,7}))?)?"
)
_LINES = lazy_pattern(r"(?P<path>.*?)(?:#L(?P<first>\d{1,7})(?:-L?(?P<last>\d{1,7}))?)?", re.DOTALL)
_ENDS = ".,:;!?…"


class Mention(NamedTuple):
    """A mentioned file and its lines, 1-based and inclusive; 0 means the whole file."""

    path: str
    first: int = 0
    last: int = 0

    @property
    def written(self) -> str:
        """The text of the mention after the ``@``."""
        if not self.first:
            return self.path
        lines = f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"
        return f"{self.path}#L{lines}"


class FoundMention(NamedTuple):
    """A mention, and the position of the mention in the user's text."""

    mention: Mention
    start: int
    stop: int


def mentions_in(words: str) -> tuple[FoundMention, ...]:
    """Return everything that looks like a mention; the files need not exist."""
    found = []
    for match in _MENTION.finditer(words):
        path, stop = match["quoted"] or match["bare"], match.end()
        if match["quoted"] is None and match["first"] is None:
            path = path.rstrip(_ENDS)
            stop = match.start() + 1 + len(path)
        if path.strip("/"):
            found.append(
                FoundMention(_made(path, match["first"], match["last"]), match.start(), stop)
            )
    return tuple(found)


def mention_of(text: str) -> Mention:
    """Parse ``path`` or ``path#L1-20`` from a client."""
    match = _LINES.fullmatch(text)
    assert match is not None, "anything matches"
    return _made(match["path"], match["first"], match["last"])


def quoted_path(path: str) -> str:
    """Quote a path for the text after the ``@``."""
    return f'"{path}"' if re.search(r"[\s@\"'`<>()\[\]{},;#]", path) or path[-1:] in _ENDS else path


def _made(path: str, first: str | None, last: str | None) -> Mention:
    begin = int(first or 0)
    end = int(last or begin)
    return Mention(path, *sorted((begin, end))) if begin else Mention(path)


SUFFIX = ".chat.md"
PATTERN = f"**/*{SUFFIX}"
FOLDER = (".indwell", "chats")
"""The folder of chats below the first root, where the project's server finds them."""

IGNORE = ".gitignore"
IGNORED = b"*\n"
"""The content of the file ``IGNORE``, by which git ignores the user's private chats."""


def is_chat(uri: str) -> bool:
    """Return whether a URI of any scheme names a chat document."""
    return SUFFIX in uri.lower() and unquote(urlsplit(uri).path).lower().endswith(SUFFIX)


def chat_name(day: str, taken: frozenset[str]) -> str:
    """Return a name for a new chat of a day (``2026-11-21``), with the first free number."""
    number = 1
    while f"{day}-{number}{SUFFIX}" in taken:
        number += 1
    return f"{day}-{number}{SUFFIX}"


TIMEOUT_S = 10.0


async def files_below(place: str, root: Path, roots: Sequence[Path], *, enough: int) -> list[str]:
    """Return file names relative to ``root``, in any order, without chats.

    Args:
        place: A folder in ``root``, as an argument of ripgrep.
        root: The folder in which ripgrep runs.
        roots: The folders of the workspace, where ripgrep is never taken from.
        enough: The number of names after which ripgrep is stopped; the result may have more names.

    Raises:
        ToolError: ripgrep is missing, or ripgrep failed.
    """
    found: list[str] = []
    rest = b""

    def take(data: bytes) -> bool:
        nonlocal rest
        *names, rest = (rest + data).split(b"\0")
        found.extend(os.fsdecode(name).removeprefix("./") for name in names)
        return len(found) >= enough

    await listen(
        ["--files", "--null", "--glob=!.git", f"--glob=!*{SUFFIX}", place],
        cwd=root,
        never_in=roots,
        timeout_s=TIMEOUT_S,
        take=take,
    )
    return found


MOST_NAMED = 300  # The names of 300 files take about 3,000 tokens.
MOST_LOOKED_AT = 20_000


async def listing_of(folder: Path, roots: Sequence[Path], deny: tuple[str, ...]) -> Listing:
    """Return the files below ``folder``, which is resolved and is in one of ``roots``.

    Raises:
        ToolError: There is no such folder, or it cannot be listed.
    """
    shown = display(folder, roots)
    name = shown if shown.endswith("/") else f"{shown}/"
    if not await asyncio.to_thread(folder.is_dir):
        raise ToolError(f"there is no folder {name!r}")
    root = next(one for one in roots if folder.parts[: len(one.parts)] == one.parts)
    place = SearchPlace(root, folder).argument
    found = await files_below(place, root, roots, enough=MOST_LOOKED_AT)
    paths = (root / one for one in sorted(found))
    allowed = [one for one in paths if not _is_denied(one, roots, deny)]
    names = tuple(display(one, roots) for one in allowed[:MOST_NAMED])
    return Listing(name, names, len(allowed) - len(names))


def _is_denied(path: Path, roots: Sequence[Path], deny: tuple[str, ...]) -> bool:
    return any(matches_any(one, deny) for one in (display(path, roots), path.as_posix()))


class Attachments(NamedTuple):
    """The attached files, and a sentence for each file that was left out."""

    files: tuple[Selection, ...] = ()
    folders: tuple[Listing, ...] = ()
    problems: tuple[str, ...] = ()


async def attachments(
    workspace: Workspace, settings: Settings, mentions: Sequence[Mention], names: OtherNames
) -> Attachments:
    """Read the mentioned lines from open buffers or from disk."""
    files: dict[tuple[str, int, int], Selection] = {}
    folders: dict[str, Listing] = {}
    problems: list[str] = []
    wanted = tuple(dict.fromkeys(mentions))
    for mention in wanted[:MOST]:
        shown = one_line(mention.written)
        try:
            if mention.path.endswith("/"):
                listing = await _listed(workspace, settings, mention)
                folders[listing.path] = listing
                continue
            one = await _attached(workspace, settings, mention, names)
        except ToolError as error:
            problems.append(f"@{shown} is not attached: {error}")
            continue
        files[one.path, one.first_line, one.last_line] = one
    if len(wanted) > MOST:
        problems.append(f"only the first {MOST} of {len(wanted)} mentioned files are attached")
    return Attachments(tuple(files.values()), tuple(folders.values()), tuple(problems))


async def _listed(workspace: Workspace, settings: Settings, mention: Mention) -> Listing:
    if mention.first:
        raise ToolError("a folder has no lines")
    folder = workspace.resolve(mention.path.rstrip("/") or "/")
    if _is_denied_file(folder, display(folder, workspace.roots), mention, settings):
        raise ToolError("a `deny` rule in your settings hides it from the model")
    return await listing_of(folder, workspace.roots, settings.deny)


async def _attached(
    workspace: Workspace, settings: Settings, mention: Mention, names: OtherNames
) -> Selection:
    path = workspace.resolve(mention.path)
    name = display(path, workspace.roots)
    if _is_denied_file(path, name, mention, settings):
        raise ToolError("a `deny` rule in your settings hides it from the model")
    other = await names.kept_by(path, settings)
    if other:
        raise ToolError(
            f"it is another name (a hard link) of {other!r}, which a rule of your settings "
            "(`deny`) keeps from the model"
        )
    if is_chat(path.as_uri()):
        raise ToolError("it is a chat")
    snapshot = await workspace.read(path)
    lines = document_lines(snapshot.text)
    if lines and not lines[-1]:
        lines.pop()
    n_lines = len(lines)
    first, last = mention.first or 1, min(mention.last or n_lines, n_lines)
    if first > max(n_lines, 1):
        raise ToolError("it has 1 line" if n_lines == 1 else f"it has {n_lines} lines")
    return Selection(
        path=name,
        first_line=first,
        last_line=max(first, last),
        text="".join(lines[first - 1 : last]),
        unsaved=snapshot.unsaved,
    )


def _is_denied_file(path: Path, name: str, mention: Mention, settings: Settings) -> bool:
    """Return whether a rule denies the file by any of its names: written, resolved, or shown."""
    names = (name, path.as_posix(), mention.path)
    return any(matches_any(one, settings.deny) for one in names)
