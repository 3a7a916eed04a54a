"""Parses a tool call: the files that the call reads, searches, edits or writes. Pure.

Tools are recognised by many names, because recorded sessions come from different agents. Shell
commands that only read, search or change files count as reads, searches or changes
(``shell_calls``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import msgspec

from indwell.context.shell_calls import joined, shell_work
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import ToolUse

Kind: TypeAlias = Literal["read", "edit", "write", "search", "command", "other"]

_KINDS: dict[str, Kind] = {
    "read_file": "read", "read": "read", "open": "read", "view": "read", "cat": "read",
    "edit_file": "edit", "edit": "edit", "multiedit": "edit", "str_replace": "edit",
    "insert": "edit", "notebookedit": "edit", "apply_patch": "edit", "replace": "edit",
    "write_file": "write", "write": "write", "create": "write",
    "grep": "search", "glob": "search", "find_file": "search", "search_dir": "search",
    "search_file": "search", "ls": "search", "list": "search", "find": "search",
    "bash": "command", "shell": "command", "run": "command", "execute": "command",
    "execute_bash": "command", "exec_command": "command", "shell_command": "command",
    "powershell": "command", "run_shell_command": "command", "local_shell": "command",
}  # fmt: skip
_PATHS = ("path", "file_path", "filePath", "filename", "file", "notebook_path")
_FOLDERS = ("workdir", "cwd", "dir_path")
_MAIN = (
    "command", "cmd", "pattern", "query", "url", "path", "file_path", "filePath", "prompt",
    "description",
)  # fmt: skip
_PATCH_TEXTS = ("input", "patchText", "patch")
_OLD_TEXTS = ("old", "old_string", "oldString", "old_str", "oldText", "search")
_EDITS_BY_COMMAND: dict[str, Kind] = {
    "view": "read", "create": "write", "str_replace": "edit", "insert": "edit",
}  # fmt: skip


class ParsedCall(msgspec.Struct, frozen=True):
    """What a tool call does, as far as its name and arguments show.

    A shell command counts as a read, search, edit or write if it does nothing else.

    Attributes:
        kind: Whether the call reads, searches, edits, writes or runs something.
        path: The first of ``paths``, or empty if there is no file.
        main: The main argument on one line, at most ``MAIN_LENGTH`` characters.
        start: The first line of a read, 1-based, or 0 if not stated.
        n_lines: The number of lines that a read asked for, or 0 if not stated.
        paths: The files that the call reads or changes, as the model named them.
        old: The texts that an edit must find in the files.
    """

    kind: Kind
    path: str = ""
    main: str = ""
    start: int = 0
    n_lines: int = 0
    paths: tuple[str, ...] = ()
    old: tuple[str, ...] = ()


MAIN_LENGTH = 120


def call_of(use: ToolUse) -> ParsedCall:
    """Parse the arguments of a tool call."""
    if len(use.arguments) > _LONGEST_CACHED:
        return _parsed(use.name, use.arguments)
    return _cached(use.name, use.arguments)


# The cache has the calls in which ``repeats`` looks for earlier reads. The cache keeps no longer
# arguments, because a call that has ended would occupy their memory.
_LONGEST_CACHED = 1_000


@lru_cache(maxsize=320)
def _cached(name: str, arguments: str) -> ParsedCall:
    return _parsed(name, arguments)


def _parsed(name: str, arguments: str) -> ParsedCall:
    name = name.lower()
    kind = _KINDS.get(name, "other")
    try:
        # Decoding a string would keep a UTF-8 copy in the string as long as the call exists.
        given = msgspec.json.decode(arguments.encode())
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        given = None
    if not isinstance(given, dict):
        return _patched(arguments) if kind == "edit" else ParsedCall(kind, main=_line(arguments))
    if kind == "command":
        return _shell_call(name, given)
    patch = next((one for key in _PATCH_TEXTS if isinstance(one := given.get(key), str)), "")
    if kind == "edit" and patch:
        return _patched(patch)
    path = next((one for key in _PATHS if isinstance(one := given.get(key), str)), "")
    if name == "str_replace_editor":
        kind = _EDITS_BY_COMMAND.get(str(given.get("command")), "other")
    texts = [one for key in _MAIN if isinstance(one := given.get(key), str)]
    first = next((one for one in given.values() if isinstance(one, str)), "")
    is_file = kind in {"read", "edit", "write"} and path
    main = path if is_file else (texts[0] if texts else first)
    start, n_lines = _range(given) if kind == "read" else (0, 0)
    path = path if kind != "search" else ""
    return ParsedCall(
        kind,
        path=path,
        main=_line(main),
        start=start,
        n_lines=n_lines,
        paths=(path,) if path else (),
        old=tuple(_old_texts(given)) if kind == "edit" else (),
    )


def _range(given: Mapping[str, Any]) -> tuple[int, int]:
    """Return the first line and the number of lines that a read asks for."""
    match given:
        case {"view_range": [int(start), int(end)]}:
            return start, max(0, end - start + 1)
        case {"line_number": int(start)}:
            return start, 0
    first, limit = given.get("offset"), given.get("limit")
    return first if isinstance(first, int) else 0, limit if isinstance(limit, int) else 0


def _old_texts(given: Mapping[str, Any]) -> Iterator[str]:
    edits = given.get("edits")
    for one in (given, *(edits if isinstance(edits, list) else ())):
        if isinstance(one, dict):
            yield from (old for key in _OLD_TEXTS if isinstance(old := one.get(key), str))


def _shell_call(name: str, given: Mapping[str, Any]) -> ParsedCall:
    """Parse a shell command; a list of words is a program with its arguments."""
    match given.get("command", given.get("cmd")):
        case str(command):
            pass
        case [str(_), ("-c" | "-lc"), str(command)]:
            pass
        case _:
            first = next((one for one in given.values() if isinstance(one, str)), "")
            return ParsedCall("command", main=_line(first))
    folder = next((one for key in _FOLDERS if isinstance(one := given.get(key), str)), "")
    work = shell_work(command, folder=folder, is_powershell=name == "powershell")
    main, paths = _line(command), work.paths
    if work.patch:
        patched = _patched(work.patch, folder)
        paths, old = tuple(dict.fromkeys((*patched.paths, *paths))), patched.old
        path = paths[0] if paths else ""
        return ParsedCall(patched.kind, path, main, paths=paths, old=old)
    path = paths[0] if paths else ""
    return ParsedCall(work.kind, path, main, work.start, work.n_lines, paths)


_PATCHED = lazy_pattern(r"\*\*\* (Update|Add|Delete|Move) (?:File|to): (.+)")


def _patched(patch: str, folder: str = "") -> ParsedCall:
    """Parse a patch with ``*** Update File: PATH`` sections; context and ``-`` lines must match."""
    paths: dict[str, None] = {}
    action, is_new = "", True
    old: list[str] = []
    hunk: list[str] = []
    for line in (*patch.split("\n"), "@@"):
        if found := _PATCHED.match(line):
            action = found[1] if found[1] != "Move" else action
            is_new = is_new and action == "Add"
            paths[joined(folder, found[2].strip())] = None
        if line.startswith(("@@", "***")):
            if any(hunk):
                old.append("\n".join(hunk))
            hunk = []
        elif action == "Update" and line[:1] in {" ", "-", ""}:
            hunk.append(line[1:])
    named = tuple(paths)
    if not named:
        return ParsedCall("edit", main=_line(patch))
    kind: Kind = "write" if is_new else "edit"
    return ParsedCall(kind, named[0], _line(named[0]), paths=named, old=tuple(old))


def _line(text: str) -> str:
    flat = " ".join(text[: 4 * MAIN_LENGTH].split())
    return flat if len(flat) <= MAIN_LENGTH else flat[: MAIN_LENGTH - 1] + "…"
