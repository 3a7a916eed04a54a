"""Chooses the line ending of a new file by its folder, its project and git.

The first of the following sources that has an answer is used: ``eol`` in .gitattributes,
``end_of_line`` in .editorconfig, the needs of programs (a script's first line, batch files), the
majority of files with the same suffix in the folder or above, and the git configuration. Without an
answer the line ending is LF, even on Windows, where programs read LF as well and git converts it.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from indwell.errors import ToolError
from indwell.files.contents.reading import opened_beneath
from indwell.files.listing import list_folder
from indwell.workspace.encoding.editorconfig import above, matches, setting_of
from indwell.workspace.git.git_config import entries
from indwell.workspace.git.repository import around, repository_of
from indwell.workspace.text import LineEnd

Attribute: TypeAlias = Literal["lf", "crlf", "as is", ""]

MOST_READ = 8  # At most 8 files of one folder are read.
MOST_FOLDERS = 6  # At most 6 folders are read: the file's own folder and those above it.
_HEAD_B = 4_096  # The rest of a longer file is not read.
_ENDS: dict[str | None, LineEnd] = {"lf": "\n", "crlf": "\r\n"}
_OF_AUTOCRLF: dict[str | None, LineEnd] = {"input": "\n", "true": "\r\n", "yes": "\r\n"}
_BATCH = frozenset({".bat", ".cmd"})  # With LF, cmd.exe misses labels.


def line_end_for(path: Path, text: str, roots: Sequence[Path]) -> LineEnd:
    """Return the line ending of ``text`` in a new file at ``path``; blocks to read a few files.

    Args:
        path: An absolute, resolved path beneath ``roots``.
        text: The text, of which only the first two characters are used.
        roots: The folders of the workspace.
    """
    attribute = eol_of(above(path, roots, ".gitattributes"))
    end = _ENDS.get(attribute)
    end = end or _ENDS.get(setting_of("end_of_line", above(path, roots, ".editorconfig")))
    if end is None and text.startswith("#!"):
        end = "\n"  # With CRLF, Unix takes the "\r" for a part of the interpreter's name.
    elif end is None and path.suffix.lower() in _BATCH:
        end = "\r\n"
    end = end or next(filter(None, map(most_used, _beside(path, roots))), None)
    if end is None and attribute != "as is":
        end = end_of_git(_configurations(path, roots))
    return end or "\n"


def with_line_end(text: str, end: LineEnd) -> str:
    r"""Return ``text`` with this line ending; a text that has a ``\r`` stays unchanged."""
    return text if end == "\n" or "\r" in text else text.replace("\n", end)


def eol_of(found: Iterable[tuple[str, str]]) -> Attribute:
    """Return the line ending that .gitattributes sets for a file; ``-text`` gives "as is".

    Args:
        found: For each .gitattributes, innermost first: the path of the file relative to the folder
            of the .gitattributes, and the text.
    """
    for path, text in found:
        eol: Attribute = ""
        for line in text.splitlines():
            pattern, *attributes = line.split() or [""]
            if not pattern or pattern.startswith(("#", "!", "[attr]")):
                continue
            if attributes and matches(_as_editorconfig(pattern), path):
                for one in attributes:
                    eol = _eol_after(eol, one)
        if eol:
            return eol
    return ""


def most_used(heads: Iterable[bytes]) -> LineEnd | None:
    """Return the line ending of most files by their first bytes, or None if there is no majority.

    A file with several line endings, or with a NUL byte, is ignored.
    """
    n_lf = n_crlf = 0
    for head in heads:
        n_feeds, n_pairs = head.count(b"\n"), head.count(b"\r\n")
        if n_feeds and b"\0" not in head and b"\r" not in head:
            n_lf += 1
        elif n_feeds and n_feeds == n_pairs and b"\0" not in head:
            n_crlf += 1
    if n_lf == n_crlf:
        return None
    return "\n" if n_lf > n_crlf else "\r\n"


def end_of_git(configurations: Iterable[str]) -> LineEnd | None:
    """Return the line ending of a checkout by ``core.autocrlf`` or, if unset, ``core.eol``."""
    values: dict[str, str] = {}
    for text in configurations:
        values |= {key: value.lower() for name, key, value in entries(text) if name == "core"}
    return _OF_AUTOCRLF.get(values.get("autocrlf")) or _ENDS.get(values.get("eol"))


def _eol_after(eol: Attribute, attribute: str) -> Attribute:
    """Return the line ending after another attribute of the file."""
    match attribute:
        case "eol=lf" | "crlf=input":
            return "lf"
        case "eol=crlf":
            return "crlf"
        case "-text" | "binary" | "-crlf":
            return "as is"
        case "!eol" | "-eol":
            return ""
        case "text" | "text=auto" | "!text":
            return "" if eol == "as is" else eol
        case _:
            return eol


def _as_editorconfig(pattern: str) -> str:
    """Translate a git pattern, in which ``**/`` may match nothing and braces are plain text."""
    plain = pattern.strip('"').replace("{", "\\{").replace("}", "\\}")
    return plain.replace("[^", "[!").replace("**/", "{,**/}")


def _beside(path: Path, roots: Sequence[Path]) -> Iterator[list[bytes]]:
    """Yield the first bytes of files with the same suffix, beside ``path`` and then above."""
    suffix = path.suffix.lower()
    folders = [one for one in path.parents if any(one.is_relative_to(root) for root in roots)]
    for folder in folders[:MOST_FOLDERS] if suffix else ():
        try:
            listed = list_folder(folder, roots)
        except ToolError:  # The folder does not exist yet, or is unreadable.
            continue
        names = (one.name for one in listed if not one.is_folder)
        alike = (one for one in names if Path(one).suffix.lower() == suffix and one != path.name)
        yield [_head(folder / one, roots) for one in itertools.islice(alike, MOST_READ)]


def _head(path: Path, roots: Sequence[Path]) -> bytes:
    try:
        with opened_beneath(path, roots) as opened:
            return os.read(opened.descriptor, _HEAD_B)
    except ToolError:  # The path is a link that leads out, a pipe, or an unreadable file.
        return b""


def _configurations(path: Path, roots: Sequence[Path]) -> Iterator[str]:
    """Yield the texts of the configuration files of the repository that contains ``path``."""
    root = max((one for one in roots if path.is_relative_to(one)), key=lambda one: len(one.parts))
    holders = (one for one in (path.parent, *path.parents) if one.is_relative_to(root))
    for holder in (*holders, *around(root)):
        repository = repository_of(holder)
        if repository is not None:
            yield from (one.text for one in repository.configurations if one.text)
            return
