"""Which code actions a place with pending hunks gets, as plain JSON. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from indwell.lsp.code_actions import AUTOMATIC, is_wanted
from indwell.lsp.review.places import Lines, touched
from indwell.lsp.review.scopes import QUICKFIX, SOURCE, Offered, offered
from indwell.lsp.wire import sync
from indwell.review.hunk import Hunk

DIFF = "Show the changes as a diff"


class Shown(NamedTuple):
    """One document with its hunks.

    Attributes:
        uri: The document.
        hunks: Those that are pending in it, by line.
        n_lines: That a cursor can be on; None if nobody knows.
        encoding: Of positions.
        session: The current one.
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
    """The actions of a range; on an automatic trigger only those of the hunks in it.

    Args:
        shown: The document.
        range_: Where.
        context: What is wanted.
        everything: All pending hunks of all files; asked for only if needed.
        hint: The diagnostic that stands for a hunk.
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
    """``indwell.accept`` or ``indwell.reject``, bound to what was shown."""
    return {"title": title, "command": f"indwell.{verb}", "arguments": [argument]}


def diff_command(title: str, uri: str) -> dict[str, Any]:
    """Opens what is pending in a document as a diff."""
    arguments = [{"what": "diff", "uri": uri}]
    return {"title": title, "command": "indwell.open", "arguments": arguments}


def marked(range_: sync.Range) -> Lines:
    """The lines of a range; where it ends at the start of a line, that one is not in it."""
    first, last = range_.start.line, range_.end.line
    if last > first and range_.end.character == 0:
        last -= 1
    return Lines(max(first, 0), max(last, 0))


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
