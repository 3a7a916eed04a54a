"""What a tool call is about: its kind and its file, for our own tools and those of other agents.

Compaction must know that a result is a file's text, or that a call wrote one; recorded sessions of
other agents call the same things by other names.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from indwell.messages import ToolUse

Kind: TypeAlias = Literal["read", "edit", "write", "search", "command", "other"]

_KINDS: dict[str, Kind] = {
    "read_file": "read", "read": "read", "open": "read", "view": "read", "cat": "read",
    "edit_file": "edit", "edit": "edit", "multiedit": "edit", "str_replace": "edit",
    "insert": "edit", "notebookedit": "edit", "apply_patch": "edit", "replace": "edit",
    "write_file": "write", "write": "write", "create": "write",
    "grep": "search", "glob": "search", "find_file": "search", "search_dir": "search",
    "search_file": "search", "ls": "search", "list": "search",
    "bash": "command", "shell": "command", "run": "command", "execute": "command",
    "execute_bash": "command",
}  # fmt: skip
_PATHS = ("path", "file_path", "filename", "file", "notebook_path")
_MAIN = ("command", "pattern", "query", "url", "path", "file_path", "prompt", "description")
_EDITS_BY_COMMAND: dict[str, Kind] = {
    "view": "read", "create": "write", "str_replace": "edit", "insert": "edit",
}  # fmt: skip


class Call(msgspec.Struct, frozen=True):
    """A tool call, understood.

    Attributes:
        kind: What it does.
        path: The file that it is about; empty if none.
        main: Its main argument in one line, at most ``MAIN_LENGTH`` characters.
        start: First line of a read, 1-based; 0 if it is not said.
        n_lines: How many lines a read asked for; 0 if it is not said.
    """

    kind: Kind
    path: str = ""
    main: str = ""
    start: int = 0
    n_lines: int = 0


MAIN_LENGTH = 120


def call_of(use: ToolUse) -> Call:
    """What ``use`` is about."""
    return _call(use.name, use.arguments)


@lru_cache(maxsize=512)
def _call(name: str, arguments: str) -> Call:
    kind = _KINDS.get(name.lower(), "other")
    try:
        given = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        given = None
    if not isinstance(given, dict):
        return Call(kind, main=_line(arguments))
    path = next((one for key in _PATHS if isinstance(one := given.get(key), str)), "")
    if name.lower() == "str_replace_editor":
        kind = _EDITS_BY_COMMAND.get(str(given.get("command")), "other")
    texts = [one for key in _MAIN if isinstance(one := given.get(key), str)]
    first = next((one for one in given.values() if isinstance(one, str)), "")
    is_file = kind in {"read", "edit", "write"} and path
    main = path if is_file else (texts[0] if texts else first)
    start, limit = given.get("offset"), given.get("limit")
    return Call(
        kind,
        path=path if kind != "search" else "",
        main=_line(main),
        start=start if isinstance(start, int) else 0,
        n_lines=limit if isinstance(limit, int) else 0,
    )


def _line(text: str) -> str:
    flat = " ".join(text[: 4 * MAIN_LENGTH].split())
    return flat if len(flat) <= MAIN_LENGTH else flat[: MAIN_LENGTH - 1] + "…"
