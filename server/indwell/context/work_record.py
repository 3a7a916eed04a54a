"""Records the work of a transcript: prompts, changed files, failing checks. Pure.

A record reads each message once, and keeps an entry for each prompt, answered file call, check and
rejection. The work of any range of messages is summed up from the entries, so a summary of a long
session reads no text again. The functions read the complete transcript, so compaction does not
affect their results.
"""

from __future__ import annotations

import html
import re
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Literal, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec

from indwell.context.file_work import Kind, call_of
from indwell.context.pairing import INTERRUPTED, tool_results, tool_uses
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import BROKE_OFF, Message, Source, Text, ToolResult, ToolUse

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


class Failing(msgspec.Struct, frozen=True, gc=False):
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


class _Entry(Protocol):
    @property
    def at(self) -> int:
        """The index of the message that completes the entry."""
        ...


class SaidWords(msgspec.Struct, frozen=True, gc=False):
    """The user's text in a message, and the state of the turn that the message before ended."""

    at: int
    turn: int
    words: str
    before: State


class FileCall(msgspec.Struct, frozen=True, gc=False):
    """An answered call that reads or changes files; ``call`` is the index of the call's message."""

    at: int
    call: int
    kind: Kind
    paths: tuple[str, ...]
    has_failed: bool
    is_error: bool


class AnsweredCheck(msgspec.Struct, frozen=True, gc=False):
    """An answered call that runs a check; ``failing`` is None if the check passed."""

    at: int
    call: int
    key: str
    failing: Failing | None


class ReportedCheck(msgspec.Struct, frozen=True, gc=False):
    """A check that Indwell ran after edits; ``failing`` is None if the check passed."""

    at: int
    name: str
    failing: Failing | None


class ReportedRejection(msgspec.Struct, frozen=True, gc=False):
    """A report of changes that the user rejected."""

    at: int
    path: str
    n_changes: int


class WorkPart(NamedTuple):
    """The work in a range of messages.

    Attributes:
        said: The user's texts.
        calls: The answered calls that read or change files.
        checks: The answered calls that run a check.
        reports: The checks that Indwell ran.
        rejections: The reports of rejected changes.
    """

    said: Sequence[SaidWords] = ()
    calls: Sequence[FileCall] = ()
    checks: Sequence[AnsweredCheck] = ()
    reports: Sequence[ReportedCheck] = ()
    rejections: Sequence[ReportedRejection] = ()

    def asked(self) -> tuple[UserPrompt, ...]:
        """Return the user's requests, oldest first; the last request is the current request."""
        return _prompts(self.said)

    def changed(self) -> tuple[Changed, ...]:
        """Return files that edits and writes have changed without an error, newest change last."""
        return _changes(self.calls)

    def failing(self) -> tuple[Failing, ...]:
        """Return checks (tests, linters, builds) whose last run failed, newest last.

        Other commands are skipped, because a search without a match also fails.
        """
        return _failures(self.checks, self.reports)

    def reviewed(self, pending: Sequence[tuple[str, int]] = ()) -> tuple[Reviewed, ...]:
        """Return files with pending or rejected changes, by path.

        Args:
            pending: The paths of files with the number of changes that await review now.
        """
        rejected: dict[str, int] = {}
        for one in self.rejections:
            rejected[one.path] = rejected.get(one.path, 0) + one.n_changes
        waits = dict(pending)
        return tuple(
            Reviewed(path, waits.get(path, 0), rejected.get(path, 0))
            for path in dict.fromkeys((*waits, *rejected))
        )


class WorkRecord:
    """The entries of one transcript, in the order of its messages.

    Attributes:
        n: The number of recorded messages.
    """

    def __init__(self) -> None:
        self.n = 0
        self._said: list[SaidWords] = []
        self._calls: list[FileCall] = []
        self._checks: list[AnsweredCheck] = []
        self._reports: list[ReportedCheck] = []
        self._rejections: list[ReportedRejection] = []

    def grow(self, whole: Sequence[Message]) -> None:
        """Record the new messages of the same transcript, and the last message again.

        The last message may have new blocks.
        """
        start = max(0, self.n - 1)
        for entries in (self._said, self._calls, self._checks, self._reports, self._rejections):
            del entries[_first(entries, start) :]
        self._said += _said(whole, start)
        self._calls += _file_calls(whole, start)
        self._checks += _check_runs(whole, start)
        self._reports += _reports(whole, start)
        self._rejections += _rejections(whole, start)
        self.n = len(whole)

    def part(self, start: int, stop: int) -> WorkPart:
        """Return the work of the messages from ``start`` to ``stop`` (exclusive), as a copy."""
        return WorkPart(
            _between(self._said, start, stop),
            [one for one in _between(self._calls, start, stop) if one.call >= start],
            [one for one in _between(self._checks, start, stop) if one.call >= start],
            _between(self._reports, start, stop),
            _between(self._rejections, start, stop),
        )


_EntryT = TypeVar("_EntryT", bound=_Entry)
_AT = attrgetter("at")


def _first(entries: Sequence[_Entry], at: int) -> int:
    return bisect_left(entries, at, key=_AT)


def _between(entries: Sequence[_EntryT], start: int, stop: int) -> Sequence[_EntryT]:
    return entries[_first(entries, start) : _first(entries, stop)]


def work_of(messages: Sequence[Message]) -> WorkPart:
    """Return the work of all messages."""
    record = WorkRecord()
    record.grow(messages)
    return record.part(0, len(messages))


def _said(messages: Sequence[Message], start: int = 0) -> Iterator[SaidWords]:
    for at in range(start, len(messages)):
        message = messages[at]
        words = "\n".join(
            block.text
            for block in message.blocks
            if isinstance(block, Text) and block.meta.source == "user"
        )
        if words:
            yield SaidWords(at, message.turn, words, _state(messages[at - 1] if at else None))


def _prompts(said: Iterable[SaidWords]) -> tuple[UserPrompt, ...]:
    found: list[UserPrompt] = []
    for one in said:
        # The text is the user's message to the running turn, so it joins the request.
        if found and found[-1].turn == one.turn:
            joined = f"{found[-1].words}\n{one.words}"
            found[-1] = UserPrompt(one.turn, joined, "open")
        else:
            if found:
                found[-1] = msgspec.structs.replace(found[-1], state=one.before)
            found.append(UserPrompt(one.turn, one.words, "open"))
    return tuple(found)


def _file_calls(messages: Sequence[Message], start: int = 0) -> Iterator[FileCall]:
    for at, called, use, result in _answers(messages, start):
        call = call_of(use)
        if call.kind in {"read", "edit", "write"} and call.paths:
            has_failed = call.kind != "read" and _failed(result)
            paths = tuple(map(sys.intern, call.paths))  # One text serves all calls with the path.
            yield FileCall(at, called, call.kind, paths, has_failed, result.is_error)


def _changes(calls: Iterable[FileCall]) -> tuple[Changed, ...]:
    seen: set[str] = set()
    edits: dict[str, Changed] = {}
    for call in calls:
        for path in call.paths if call.kind != "read" and not call.has_failed else ():
            before = edits.pop(path, None)
            is_new = before.is_new if before else call.kind == "write" and path not in seen
            edits[path] = Changed(path, before.n_edits + 1 if before else 1, is_new)
        if not call.is_error:
            seen.update(call.paths)
    return tuple(edits.values())


_CHECK = lazy_pattern(
    r"\b(?:py|go|c|un|j|vi|php)?(?:tests?|unit)\b|check|\blint|\bbuild\b|\bvet\b|\bmypy\b|\bruff\b"
    r"|\btsc\b|eslint|\bcargo\b|\bmake\b|\bmvn\b|gradle|\btox\b|\bnox\b|jest|vitest|rspec|compile"
    r"|clippy|\bci\b|verify|typecheck|\bpyright\b",
    re.IGNORECASE,
)


def _check_runs(messages: Sequence[Message], start: int = 0) -> Iterator[AnsweredCheck]:
    for at, called, use, result in _answers(messages, start):
        call = call_of(use)
        if call.kind != "command" or (key := _check_key(call.main)) is None:
            continue
        failed: Failing | None = None
        if _failed(result):
            failed = Failing(call.main, result.meta.turn, error_line(result.text))
        yield AnsweredCheck(at, called, key, failed)


# Only Indwell can write this tag; quotes and brackets in a check's name are replaced.
_CHECKED = lazy_pattern(
    r'<ide_diagnostics check="([^"<>]{1,400})" state="(failing|passing)">\n(.*)'
)


def _reports(messages: Sequence[Message], start: int = 0) -> Iterator[ReportedCheck]:
    for at, block in _told(messages, start, "diagnostics"):
        match = _CHECKED.match(block.text)
        if match is not None:
            name = html.unescape(match[1]).strip("`")
            words = match[3][:ERROR_LENGTH]
            failed = Failing(name, block.meta.turn, words) if match[2] == "failing" else None
            yield ReportedCheck(at, name, failed)


def _failures(
    checks: Iterable[AnsweredCheck], reports: Iterable[ReportedCheck]
) -> tuple[Failing, ...]:
    runs: dict[str, Failing] = {}
    for run in checks:
        runs.pop(run.key, None)
        if run.failing is not None:
            runs[run.key] = run.failing
    told: dict[str, Failing] = {}
    for report in reports:
        told.pop(report.name, None)
        if report.failing is not None:
            told[report.name] = report.failing
    return (*runs.values(), *told.values())


_REJECTED = lazy_pattern(r'<changed-file path="([^"\n]*)" rejected="(\d{1,6})">')


def _rejections(messages: Sequence[Message], start: int) -> Iterator[ReportedRejection]:
    for at, block in _told(messages, start, "changed_file"):
        match = _REJECTED.match(block.text)
        if match is not None:
            yield ReportedRejection(at, html.unescape(match[1]), int(match[2]))


def _told(messages: Sequence[Message], start: int, source: Source) -> Iterator[tuple[int, Text]]:
    """Yield the texts from one source with the indices of their messages."""
    for at in range(start, len(messages)):
        for block in messages[at].blocks:
            if isinstance(block, Text) and block.meta.source == source:
                yield at, block


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
    return ((use, result) for _, _, use, result in _answers(messages))


def _answers(
    messages: Sequence[Message], start: int = 0
) -> Iterator[tuple[int, int, ToolUse, ToolResult]]:
    """Yield the indices of the result's message and of the call's message, call and result."""
    called = start - 1
    while called > 0 and messages[called].role != "assistant":
        called -= 1
    uses = {use.id: use for use in tool_uses(messages[called])} if called >= 0 else {}
    for at in range(start, len(messages)):
        message = messages[at]
        if message.role == "assistant":
            called, uses = at, {use.id: use for use in tool_uses(message)}
            continue
        for result in tool_results(message):
            use = uses.get(result.tool_use_id)
            if use is not None:
                yield at, called, use, result


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


@lru_cache(maxsize=64)  # More commands would need half a megabyte.
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
