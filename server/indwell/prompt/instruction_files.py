"""Names, rules and imports of the instruction files of Indwell and other agents. Pure.

Each agent has a different name for its instruction file. ``KINDS`` has the names that Indwell
reads, and ``settings.model`` their order.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import NamedTuple

from indwell.lazy_pattern import lazy_pattern

FILE_NAME = "AGENTS.md"

IN_FOLDERS: Mapping[str, tuple[str, ...]] = {
    "agents": (FILE_NAME,),
    "claude": ("CLAUDE.md", "CLAUDE.local.md"),
    "gemini": ("GEMINI.md",),
}
"""Instruction files that Indwell reads in any folder, by kind."""

AT_ROOT: Mapping[str, tuple[str, ...]] = {
    **IN_FOLDERS,
    "copilot": (".github/copilot-instructions.md",),
    "cursor": (".cursorrules",),
    "windsurf": (".windsurfrules",),
    "conventions": ("CONVENTIONS.md",),
}
"""Instruction files that Indwell reads only in the workspace folder itself, by kind."""

RULES: Mapping[str, tuple[str, str]] = {
    "copilot": (".github/instructions", ".md"),
    "cursor": (".cursor/rules", ".mdc"),
}
"""Folders in the workspace folder with a file for each rule, and the suffix of these files, by
kind.
"""

NESTED = frozenset(name for names in IN_FOLDERS.values() for name in names)
MOST_IMPORTS = 20  # One file imports at most 20 files.
MOST_IMPORT_DEPTH = 5  # Imports are nested at most 5 deep, as in Claude Code.
# All globs of a rule have at most 4,000 characters; splitting longer globs would take too long.
MOST_GLOB_CHARACTERS = 4_000

_IMPORT = lazy_pattern(r"(?<![^\s(])@(?![\s/~@])([^\s`,;:()<>\"']+)")
_CODE = lazy_pattern(r"^(```|~~~).*?^\1[^\n]*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_FRONT = lazy_pattern(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE | re.DOTALL)
_VALUE = lazy_pattern(r"^([A-Za-z]+):[ \t]*(.*(?:\n[ \t]*-[ \t].*)*)$", re.MULTILINE)
_OUTSIDE_BRACES = lazy_pattern(r",(?![^{}]*\})")


class InstructionRule(NamedTuple):
    """A rule: instructions for some files, or for tasks that fit a description.

    Attributes:
        globs: Patterns of the files that the rule applies to.
        is_always: Whether the rule applies to each task.
        description: The description that says when the model should read the rule.
        body: The instructions.
    """

    globs: tuple[str, ...]
    is_always: bool
    description: str
    body: str


def read_rule(text: str) -> InstructionRule:
    """Parse a rule of Cursor (``.mdc``) or Copilot (``.instructions.md``).

    The front matter is read line by line: Cursor writes ``globs: *.ts``, which is not YAML.
    """
    front = _FRONT.match(text)
    if front is None:
        return InstructionRule((), is_always=True, description="", body=text)
    values = {one[1].lower(): one[2].strip() for one in _VALUE.finditer(front[1])}
    globs = _list((values.get("globs") or values.get("applyto") or "")[:MOST_GLOB_CHARACTERS])
    is_always = values.get("alwaysapply", "").lower() == "true" or "**" in globs or "**/*" in globs
    description = _plain(" ".join(values.get("description", "").split()))
    return InstructionRule(globs, is_always, description, text[front.end() :].lstrip("\r\n"))


def imports_of(text: str, name: str) -> tuple[str, ...]:
    """Return the files that ``@path`` in a CLAUDE.md imports, relative to the root.

    Paths in code, absolute paths, paths in the home folder, and paths out of the root are ignored.

    Args:
        text: The importing file.
        name: The file's path, relative to the root.
    """
    folder = posixpath.dirname(name)
    wanted = (one[1].rstrip(".!?*_") for one in _IMPORT.finditer(_CODE.sub("", text)))
    paths = (posixpath.normpath(posixpath.join(folder, one)) for one in wanted if one)
    inside = (one for one in paths if one != ".." and not one.startswith(("../", "/")))
    return tuple(one for one in dict.fromkeys(inside) if one != name)[:MOST_IMPORTS]


def imports_files(name: str) -> bool:
    """Return whether ``@path`` in a file of this name imports another file."""
    return posixpath.basename(name) in IN_FOLDERS["claude"]


def _list(value: str) -> tuple[str, ...]:
    """Return the globs in a value: a list with hyphens, in brackets, or with commas."""
    if "\n" in value:
        parts = [line.strip().removeprefix("-") for line in value.splitlines()]
    else:
        inner = value[1:-1] if value.startswith("[") and value.endswith("]") else _plain(value)
        parts = _OUTSIDE_BRACES.split(inner)
    return tuple(dict.fromkeys(filter(None, (_plain(one) for one in parts))))


def _plain(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1].strip()
    return value
