"""``indwell audit``: what was asked, allowed and run in a session."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import msgspec
from rich.console import Console
from rich.markup import escape

from indwell.cli.stored.sessions import whole_id
from indwell.cli.terminal.json_line import json_line
from indwell.errors import SessionError
from indwell.files.append_log import pieces_of
from indwell.policy.approvals import folded, one_line, visible
from indwell.sessions import log_lines
from indwell.sessions.audit_trail import REFUSALS, Act, acts
from indwell.sessions.log_lines import LogReading
from indwell.sessions.records import Forked, SessionStarted, TurnStartRecord
from indwell.sessions.storage.retention import logs
from indwell.sessions.storage.store import folder_name
from indwell.settings.paths import state_folder

_PASSED_OVER = tuple(
    f'{{"type":"{kind}",'.encode() for kind in ("prefixed", "sent", "wire", "compacted")
)
_COLOURS = {"done": "green", "failed": "yellow", "denied": "red", "refused": "red"}
_ANSWERS = {
    "": "no answer is on record",
    "unanswered": "nobody answered",
    "beforehand": "allowed by --allow-commands",
    "uncovered": "not covered by --allow-commands",
}
_ENDS = {
    "done": "done",
    "failed": "failed",
    "denied": "not run",
    "refused": "not run",
    "unknown": "no result is on record",
}


class _Audit(msgspec.Struct, frozen=True):
    """An audit as JSON."""

    session: str
    workspace: str
    notices: tuple[str, ...]
    sums: dict[str, int]
    acts: tuple[Act, ...]


def audit(options: argparse.Namespace) -> int:
    """Print the audit; 0 if that works.

    Raises:
        UserError: The session does not exist or cannot be read.
    """
    session, reading = _read(options.session)
    found = acts(reading.records)
    turns = {one.turn for one in reading.records if isinstance(one, TurnStartRecord)}
    if options.turn is not None:
        if options.turn not in turns:
            has = f"its turns are 1 to {max(turns)}" if turns else "it has none yet"
            raise SessionError(f"session {session} has no turn {options.turn}; {has}")
        found = tuple(act for act in found if act.turn == options.turn)
    workspace = next(
        (one.workspace for one in reading.records if isinstance(one, SessionStarted)), ""
    )
    notices = (*reading.notices, *_notices(reading, found))
    made = _Audit(session, workspace, notices, dict(Counter(act.end for act in found)), found)
    if options.json:
        sys.stdout.write(json_line(made) + "\n")
    else:
        _show(Console(highlight=False), made)
    return 0


def _read(given: str) -> tuple[str, LogReading]:
    """A session of any folder by its id; the newest one of this folder if none is given.

    Raises:
        SessionError: There is none, or it cannot be read.
    """
    state = state_folder(os.environ)
    folder = None if given else folder_name(Path.cwd().resolve())
    kept = dict(logs(state, folder=folder))
    session = whole_id(given, tuple(kept)) if given else next(iter(kept), "")
    if session not in kept:
        which = f"there is no session {given!r}" if given else "this folder has no session"
        raise SessionError(f"{which}; `indwell sessions --all` lists them")
    try:
        return session, log_lines.read(pieces_of(kept[session]), passing=_PASSED_OVER)
    except OSError as error:
        raise SessionError(f"session {session!r} cannot be read ({error.strerror})") from error


def _notices(reading: LogReading, found: Sequence[Act]) -> tuple[str, ...]:
    told = []
    copied = [one for one in reading.records if isinstance(one, Forked) and one.whole]
    if copied:
        which = f"{copied[-1].session}, up to its turn {copied[-1].turn}"
        told.append(
            f"the first turns come from session {which}, which this session was forked from"
        )
    if any(act.decision is None for act in found):
        told.append(
            "some calls are older than the record of decisions; which rule allowed them is not "
            "known"
        )
    return tuple(told)


def _show(console: Console, made: _Audit) -> None:
    _line(console, f"[bold]{escape(made.session)}[/]  {escape(one_line(made.workspace))}")
    for notice in made.notices:
        _line(console, f"[yellow]{escape(visible(notice))}[/]")
    for (turn, left), group in groupby(made.acts, key=lambda act: (act.turn, act.left)):
        behind = "  [dim]left behind by a rewind[/]" if left else ""
        _line(console, f"\n[bold]Turn {turn}[/]{behind}")
        for act in group:
            _show_act(console, act)
    _line(console, f"\n{_sum(made)}")


def _show_act(console: Console, act: Act) -> None:
    where = f"  [dim]in {escape(one_line(act.cwd))}[/]" if act.cwd else ""
    by = f"sub-agent {act.agent}: " if act.agent else ""
    _line(console, f"[cyan]▸ {escape(one_line(by + act.tool))}[/]{where}  [dim]{escape(act.at)}[/]")
    for line in folded(visible(act.what)).splitlines():
        _line(console, f"    {escape(line)}")
    colour = _COLOURS.get(act.end, "yellow")
    _line(console, f"  {escape(visible(decided_words(act)))} → [{colour}]{_ENDS[act.end]}[/]")
    if act.ending:
        _line(console, f"    [dim]{escape(one_line(act.ending))}[/]")


def decided_words(act: Act) -> str:
    """The decision on a call, its rule, and the user's answer, in one line."""
    by = f" by {act.rule}" if act.rule else ""
    because = f": {act.reason}" if act.reason else ""
    sandbox = "" if "outside" in act.widening else act.sandbox
    sandbox = _without_network(sandbox) if "network" in act.widening else sandbox
    beyond = "".join(f", {one}" for one in (sandbox, act.widening) if one)
    match act.decision:
        case None:
            return "not written down"
        case "allow":
            return f"allowed{by}{beyond}"
        case "deny":
            return f"denied{by}{because}"
        case "ask":
            answered = _ANSWERS.get(act.answer, f"you said {act.answer}")
            if act.answer and act.answer not in REFUSALS:
                return f"asked{by}{because}; {answered}{beyond}"
            wanted = f"; it was to run {act.widening}" if act.widening else ""
            return f"asked{by}{because}{wanted}; {answered}"


def _sum(made: _Audit) -> str:
    if not made.acts:
        return "nothing was changed, run, asked for or denied (reads are not listed)"
    n_asked = sum(act.decision == "ask" for act in made.acts)
    ends = ", ".join(f"{number} {end}" for end, number in sorted(made.sums.items()))
    calls = "1 call" if len(made.acts) == 1 else f"{len(made.acts)} calls"
    return f"{calls}, {n_asked} asked for: {ends}; reads are not listed"


def _without_network(sandbox: str) -> str:
    """The sandbox of a command, without the parts that did not apply to it."""
    return sandbox.removesuffix(", no network")


def _line(console: Console, markup: str) -> None:
    console.print(markup, emoji=False, soft_wrap=True)
