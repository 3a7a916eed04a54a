"""Extracts the work of a conversation: prompts, files read and changed, failing checks. Pure.

The functions read the complete transcript, so compaction does not affect their results. The time is
linear in the transcript, with a limit for each text, and is spent only at a compaction.

Tools are recognised by many names, because recorded sessions come from different agents. Shell
commands that only read, search or change files count as reads, searches or changes
(``shell_calls``).
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from html import unescape
from typing import Any, Literal, TypeAlias

import msgspec

from indwell.context.pairing import INTERRUPTED, tool_results, tool_uses
from indwell.context.shell_calls import joined, shell_work
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import BROKE_OFF, Message, Text, ToolResult, ToolUse

# the number of characters at each end of a command's output that are searched for errors
ENDS = 4_000
ERROR_LENGTH = 150  # the limit of characters for an error's line

State: TypeAlias = Literal["open", "finished", "asked back"]


class UserPrompt(msgspec.Struct, frozen=True):
    """The user's request in one turn.

    Attributes:
        turn: The number of the turn.
        words: All text of the user, including messages to the running turn.
        state: ``finished`` if the turn ended with an answer, and the user began another turn;
            ``asked back`` if that answer was a question; ``open`` in all other cases.
    """

    turn: int
    words: str
    state: State


class Changed(msgspec.Struct, frozen=True):
    """A file that the agent changed.

    Attributes:
        path: The path as the model named it.
        n_edits: The number of calls that changed the file.
        is_new: Whether a call wrote the whole file before any call read or edited it.
    """

    path: str
    n_edits: int
    is_new: bool


class Failing(msgspec.Struct, frozen=True):
    """A check whose last run failed.

    Attributes:
        command: The command, on one line.
        turn: The turn in which the command last ran.
        error: The output's most informative line about the error, at most ``ERROR_LENGTH``
            characters; may be empty. The line is untrusted text.
    """

    command: str
    turn: int
    error: str


def asked(messages: Sequence[Message]) -> tuple[UserPrompt, ...]:
    """Return the user's requests, oldest first; the last request is the current request."""
    found: list[UserPrompt] = []
    before: Message | None = None
    for message in messages:
        words = "\n".join(
            block.text
            for block in message.blocks
            if isinstance(block, Text) and block.meta.source == "user"
        )
        if words:
            # The text is the user's message to the running turn, so it joins the request.
            if found and found[-1].turn == message.turn:
                joined = f"{found[-1].words}\n{words}"
                found[-1] = UserPrompt(message.turn, joined, "open")
            else:
                if found:
                    found[-1] = msgspec.structs.replace(found[-1], state=_state(before))
                found.append(UserPrompt(message.turn, words, "open"))
        before = message
    return tuple(found)


def changed(messages: Sequence[Message]) -> tuple[Changed, ...]:
    """Return files that edits and writes have changed without an error, newest change last."""
    seen: set[str] = set()
    edits: dict[str, Changed] = {}
    for use, result in answered(messages):
        call = call_of(use)
        if call.kind not in {"read", "edit", "write"}:
            continue
        for path in call.paths if call.kind != "read" and not _failed(result) else ():
            before = edits.pop(path, None)
            is_new = before.is_new if before else call.kind == "write" and path not in seen
            edits[path] = Changed(path, before.n_edits + 1 if before else 1, is_new)
        if not result.is_error:
            seen.update(call.paths)
    return tuple(edits.values())


class Reviewed(msgspec.Struct, frozen=True):
    """The rejected changes of a file, and the changes that await review.

    Attributes:
        path: The displayed path.
        n_pending: Number of changes that await review.
        n_rejected: Number of changes that the user rejected in this conversation.
    """

    path: str
    n_pending: int = 0
    n_rejected: int = 0


_REJECTED = lazy_pattern(r'<changed-file path="([^"\n]*)" rejected="(\d{1,6})">')


def reviewed(
    messages: Sequence[Message], pending: Sequence[tuple[str, int]] = ()
) -> tuple[Reviewed, ...]:
    """Return files with pending or rejected changes, by path.

    Args:
        messages: The transcript, which has reports of rejections.
        pending: The paths of files with the number of changes that await review now.
    """
    rejected: dict[str, int] = {}
    for message in messages:
        for block in message.blocks:
            if isinstance(block, Text) and block.meta.source == "changed_file":
                told = _REJECTED.match(block.text)
                if told is not None:
                    path = unescape(told[1])
                    rejected[path] = rejected.get(path, 0) + int(told[2])
    waits = dict(pending)
    return tuple(
        Reviewed(path, waits.get(path, 0), rejected.get(path, 0))
        for path in dict.fromkeys((*waits, *rejected))
    )


_CHECK = lazy_pattern(
    r"\b(?:py|go|c|un|j|vi|php)?(?:tests?|unit)\b|check|\blint|\bbuild\b|\bvet\b|\bmypy\b|\bruff\b"
    r"|\btsc\b|eslint|\bcargo\b|\bmake\b|\bmvn\b|gradle|\btox\b|\bnox\b|jest|vitest|rspec|compile"
    r"|clippy|\bci\b|verify|typecheck|\bpyright\b",
    re.IGNORECASE,
)


def failing(messages: Sequence[Message]) -> tuple[Failing, ...]:
    """Return checks (tests, linters, builds) whose last run failed, newest last.

    Other commands are skipped, because a search without a match also fails.
    """
    runs: dict[str, tuple[str, ToolResult]] = {}
    for use, result in answered(messages):
        call = call_of(use)
        if call.kind != "command" or (key := _check_key(call.main)) is None:
            continue
        runs.pop(key, None)
        if _failed(result):
            runs[key] = call.main, result
    failed = (
        Failing(main, result.meta.turn, error_line(result.text)) for main, result in runs.values()
    )
    return (*failed, *_told(messages))


# Only Indwell can write this tag; quotes and brackets in a check's name are replaced.
_CHECKED = lazy_pattern(
    r'<ide_diagnostics check="([^"<>]{1,400})" state="(failing|passing)">\n(.*)'
)


def _told(messages: Sequence[Message]) -> Iterator[Failing]:
    """Return the checks that Indwell ran after edits and whose last run failed."""
    told: dict[str, Failing] = {}
    for message in messages:
        for block in message.blocks:
            if not isinstance(block, Text) or block.meta.source != "diagnostics":
                continue
            match = _CHECKED.match(block.text)
            if match is None:
                continue
            name = html.unescape(match[1]).strip("`")
            told.pop(name, None)
            if match[2] == "failing":
                told[name] = Failing(name, block.meta.turn, match[3][:ERROR_LENGTH])
    yield from told.values()


_ERROR = lazy_pattern(
    r"\berror\b|\bfail(?:ed|ure)?\b|\bFAIL\b|exception|\bpanic\b|undefined|not found|assert|cannot"
    r"|\bexpected\b|no such|denied|traceback|\bE\s{2,}",
    re.IGNORECASE,
)
# This matches ``file.go:12:``, whose line mostly names the cause.
_PLACE = lazy_pattern(r"\w\.\w{1,5}:\d+")
_SUMMED = lazy_pattern(r"^\W*(?:FAIL|FAILED|exit(?:ed)?\b.*|error: task failed)\W*$", re.IGNORECASE)


def error_line(text: str) -> str:
    """Return the last output line with an error, or with a position in a file.

    In a long output, only both ends are searched.
    """
    seen = text if len(text) <= 2 * ENDS else f"{text[:ENDS]}\n{text[-ENDS:]}"
    best, value = "", 0
    for line in seen.splitlines():
        flat = line.strip()
        if not flat or _SUMMED.match(flat):
            continue
        here = 2 * bool(_PLACE.search(flat)) + bool(_ERROR.search(flat))
        if here and here >= value:
            best, value = flat, here
    return best if len(best) <= ERROR_LENGTH else best[: ERROR_LENGTH - 1] + "…"


def answered(messages: Sequence[Message]) -> Iterator[tuple[ToolUse, ToolResult]]:
    """Yield each call with its result, in order; calls without a result are left out."""
    uses: dict[str, ToolUse] = {}
    for message in messages:
        if message.role == "assistant":
            uses = {use.id: use for use in tool_uses(message)}
            continue
        for result in tool_results(message):
            use = uses.get(result.tool_use_id)
            if use is not None:
                yield use, result


_EXIT = lazy_pattern(r"exit(?:ed with)?(?: code| status)?:? (-?\d+)", re.IGNORECASE)
_BAD_START = lazy_pattern(r"\s*(?:<tool_use_error>|Error\b|error:)")


def _failed(result: ToolResult) -> bool:
    """Return whether the call failed, by the error flag; a text decides if the flag is missing."""
    if result.is_error:
        return True
    text = result.text
    if _BAD_START.match(text[:40]):
        return True
    told = _EXIT.match(text[:40].lstrip("[ ")) or _EXIT.search(text[-200:].rpartition("\n")[2])
    return told is not None and int(told[1]) != 0


@lru_cache(maxsize=4_096)
def _check_key(command: str) -> str | None:
    """Return a key that is equal for repeated runs of a check, or None if there is no check."""
    if not _CHECK.search(command):
        return None
    bare = re.sub(r"^(?:cd\s+\S+\s*(?:&&|;)\s*)+", "", command)
    return re.sub(r"\s*(?:2>&1|\|\s*(?:tail|head|grep|tee|cat)\b[^|]*)", "", bare).strip()


def _state(last: Message | None) -> State:
    """Return the state of a turn whose last message is ``last``."""
    if last is None or last.role != "assistant" or tool_uses(last):
        return "open"
    text = next((one.text for one in reversed(last.blocks) if isinstance(one, Text)), "").rstrip()
    if not text or text.endswith(("[no answer]", BROKE_OFF, f"[{INTERRUPTED}]")):
        return "open"
    return "asked back" if text.rstrip("*_ )").endswith(("?", "？", "؟")) else "finished"  # noqa: RUF001


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


# A summary reads all calls of a session, so the cache has the calls of a long session. The cache
# keeps no longer arguments, because a call that has ended would occupy their memory.
_LONGEST_CACHED = 1_000


@lru_cache(maxsize=16_384)
def _cached(name: str, arguments: str) -> ParsedCall:
    return _parsed(name, arguments)


def _parsed(name: str, arguments: str) -> ParsedCall:
    name = name.lower()
    kind = _KINDS.get(name, "other")
    try:
        given = msgspec.json.decode(arguments)
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
