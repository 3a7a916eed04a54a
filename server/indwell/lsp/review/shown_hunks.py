"""Converts pending hunks to ranges, code actions, hints, lenses and rows. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from indwell.lsp.messages.documents import ChangeRow, ChangesResult
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.prompts.attention import OURS, hint_words
from indwell.lsp.prompts.code_actions import AUTOMATIC, is_wanted
from indwell.lsp.review.words import QUICKFIX, SOURCE, Offered, changes, described, offered
from indwell.lsp.wire import sync
from indwell.review.hunk import Hunk
from indwell.workspace.text import units_in_line


class ShownLines(NamedTuple):
    """A range of lines, 0-based and inclusive."""

    first: int
    last: int


def reachable(n_lines: int, *, ends_empty: bool) -> int:
    """Return the number of lines that the cursor can reach in any editor; at least 1.

    Args:
        n_lines: The number of lines as the protocol counts them.
        ends_empty: Whether the last line is empty; Vim does not show such a line.
    """
    return max(n_lines - 1 if ends_empty else n_lines, 1)


def lines_of(hunk: Hunk, n_lines: int | None) -> ShownLines:
    """Return the lines of a hunk; for deleted lines and binary files, the nearest line."""
    first = max(hunk.line - 1, 0)
    if n_lines is not None:
        first = min(first, n_lines - 1)
    return ShownLines(first, first + max(len(hunk.new) - 1, 0))


def range_of(hunk: Hunk, n_lines: int | None, encoding: str) -> Mapping[str, Any]:
    """Return the range of a hunk as plain JSON, up to the end of the last line."""
    first, last = lines_of(hunk, n_lines)
    character = 0
    if hunk.new:
        line = hunk.new[-1].rstrip("\r\n")
        character = units_in_line(line, len(line), encoding)
    return {
        "start": {"line": first, "character": 0},
        "end": {"line": last, "character": character},
    }


def touched(hunks: Sequence[Hunk], lines: ShownLines, n_lines: int | None) -> tuple[Hunk, ...]:
    """Return the hunks on these lines; a line after the text means the last line."""
    if n_lines is not None:
        lines = ShownLines(min(lines.first, n_lines - 1), min(lines.last, n_lines - 1))
    found = []
    for hunk in hunks:
        first, last = lines_of(hunk, n_lines)
        if first <= lines.last and last >= lines.first:
            found.append(hunk)
    return tuple(found)


DIFF = "Show the changes as a diff"


class Shown(NamedTuple):
    """A document with its pending hunks.

    Attributes:
        uri: The URI of the document.
        hunks: The pending hunks, by line.
        n_lines: The number of lines that the cursor can reach, or None if unknown.
        encoding: The encoding of positions.
        session: The id of the current session.
    """

    uri: str
    hunks: Sequence[Hunk]
    n_lines: int | None
    encoding: str
    session: str | None


def offer(
    shown: Shown,
    range_: sync.Range,
    context: sync.ActionContext,
    everything: Callable[[], Sequence[Hunk]],
    hint: Callable[[Hunk], dict[str, Any]],
) -> list[dict[str, Any]]:
    """Return the code actions of a range; on an automatic trigger, only for hunks there.

    Args:
        shown: The document with its pending hunks.
        range_: The range for which code actions are requested.
        context: The requested kinds and the trigger.
        everything: Returns all pending hunks of all files; called only if needed.
        hint: Returns the diagnostic of a hunk.
    """
    is_automatic = context.trigger_kind == AUTOMATIC

    def may_offer(kind: str) -> bool:
        return not (is_automatic and kind == SOURCE) and is_wanted(kind, context.only)

    here = touched(shown.hunks, marked(range_), shown.n_lines)
    found = []
    for one in offered(here, shown.hunks, everything, shown.session, may_offer):
        hints = [hint(hunk) for hunk in here] if one.kind == QUICKFIX else []
        found += [_verdict(verb, one, shown.uri, hints) for verb in ("accept", "reject")]
    if shown.hunks and may_offer(SOURCE):
        command = diff_command(DIFF, shown.uri)
        found.append({"title": DIFF, "kind": SOURCE, "command": command})
    return found


def verdict_command(verb: str, title: str, argument: dict[str, Any]) -> dict[str, Any]:
    """Return the command ``indwell.accept`` or ``indwell.reject`` for exactly these hunks."""
    return {"title": title, "command": f"indwell.{verb}", "arguments": [argument]}


def diff_command(title: str, uri: str) -> dict[str, Any]:
    """Return the command that opens the pending changes of a document as a diff."""
    arguments = [{"what": "diff", "uri": uri}]
    return {"title": title, "command": "indwell.open", "arguments": arguments}


def marked(range_: sync.Range) -> ShownLines:
    """Return the lines of a range, without the last line if the range ends at its start."""
    first, last = range_.start.line, range_.end.line
    if last > first and range_.end.character == 0:
        last -= 1
    return ShownLines(max(first, 0), max(last, 0))


def _verdict(
    verb: str, scope: Offered, uri: str, hints: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    title = f"{verb.capitalize()} {scope.words}"
    action: dict[str, Any] = {
        "title": title,
        "kind": scope.kind,
        "command": verdict_command(verb, title, scope.argument(uri)),
    }
    if hints:
        action["diagnostics"] = list(hints)
    return action


CODE = "change"
MOST = 500  # the limit of shown hunks for one file; showing a hunk takes 10 us on the event loop
_HINT = 4  # the value of LSP's DiagnosticSeverity


class Published(msgspec.Struct, frozen=True):
    """The params of ``textDocument/publishDiagnostics`` with all hints of a document."""

    uri: str
    diagnostics: list[dict[str, Any]]


def hint_of(hunk: Hunk, shown: Shown) -> dict[str, Any]:
    """Return the diagnostic of a hunk, as plain JSON."""
    range_ = range_of(hunk, shown.n_lines, shown.encoding)
    if range_["start"] == range_["end"]:  # some editors show an empty range at a wrong position
        range_ = {**range_, "end": {**range_["end"], "character": 1}}
    return {
        "range": range_,
        "severity": _HINT,
        "code": CODE,
        "source": OURS,
        "message": hint_words(described(hunk, shown.session)),
    }


class Hints:
    """Tracks the hints that the editor shows, by file.

    Args:
        publish: Sends the hints of a document.
    """

    def __init__(self, publish: Callable[[Published], None]) -> None:
        self._publish = publish
        self._shown: dict[Path, Published] = {}

    def show(self, path: Path, shown: Shown) -> None:
        """Show exactly these hunks of a file, up to ``MOST``."""
        fresh = Published(shown.uri, [hint_of(hunk, shown) for hunk in shown.hunks[:MOST]])
        before = self._shown.get(path)
        if before is not None and before.uri != fresh.uri:
            self.clear(path)  # the editor uses another URI for the file now
            before = None
        if before == fresh or (before is None and not fresh.diagnostics):
            return
        if fresh.diagnostics:
            self._shown[path] = fresh
        else:
            del self._shown[path]
        self._publish(fresh)

    def clear(self, path: Path) -> None:
        """Remove the hints of a file."""
        before = self._shown.pop(path, None)
        if before is not None:
            self._publish(Published(before.uri, []))

    def clear_all(self) -> None:
        """Remove all hints."""
        for path in tuple(self._shown):
            self.clear(path)


def lenses_of(shown: Shown) -> list[dict[str, Any]]:
    """Return the lenses: three at the top of the file, and three at each hunk."""
    if not shown.hunks:
        return []
    every = {"hunks": [hunk.id for hunk in shown.hunks], "uri": shown.uri}
    found = [
        _lens(0, diff_command(f"{changes(len(shown.hunks))} by Indwell", shown.uri)),
        _lens(0, verdict_command("accept", "Accept all in this file", every)),
        _lens(0, verdict_command("reject", "Reject all in this file", every)),
    ]
    for hunk in shown.hunks[:MOST]:
        found += _of_hunk(hunk, shown)
    return found


def _of_hunk(hunk: Hunk, shown: Shown) -> list[dict[str, Any]]:
    line = lines_of(hunk, shown.n_lines).first
    only = {"hunks": [hunk.id], "uri": shown.uri}
    words = described(hunk, shown.session)
    return [
        _lens(line, verdict_command("accept", "Accept", only)),
        _lens(line, verdict_command("reject", "Reject", only)),
        _lens(line, diff_command(words[0].upper() + words[1:], shown.uri)),
    ]


def _lens(line: int, command: dict[str, Any]) -> dict[str, Any]:
    place = {"line": line, "character": 0}
    return {"range": {"start": place, "end": place}, "command": command}


def changes_of(
    shown: Iterable[Shown],
    display: Callable[[Path], str],
    *,
    session: str | None,
    turn: int | None,
    pending: int,
    undo: str,
) -> ChangesResult:
    """Return the rows of all files with totals, perhaps for one session or turn only."""
    found = [
        (hunk, one)
        for one in shown
        for hunk in one.hunks
        if any(session in {None, by.session} and turn in {None, by.turn} for by in hunk.actors)
    ]
    return ChangesResult(
        changes=tuple(_row(hunk, one, display(hunk.path)) for hunk, one in found),
        files=len({hunk.path for hunk, _ in found}),
        added=sum(len(hunk.new) for hunk, _ in found),
        removed=sum(len(hunk.old) for hunk, _ in found),
        pending=pending,
        undo=undo,
    )


def _row(hunk: Hunk, shown: Shown, path: str) -> ChangeRow:
    newest = hunk.actors[-1]
    return ChangeRow(
        id=hunk.id,
        uri=shown.uri,
        path=path,
        range=_range(range_of(hunk, shown.n_lines, shown.encoding)),
        old="".join(hunk.old),
        new="".join(hunk.new),
        turn=newest.turn,
        session=newest.session,
        touched=hunk.is_touched,
        kind=hunk.kind,
        note=hunk.note,
    )


def _range(plain: Mapping[str, Any]) -> types.Range:
    return types.Range(
        start=types.Position(**plain["start"]),
        end=types.Position(**plain["end"]),
    )
