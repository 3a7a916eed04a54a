"""``indwell review``: shows, accepts and rejects pending changes in a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec
from rich.console import Console

from indwell.cli.review.files import UNSAVED, FileLook, WantedFiles, look
from indwell.cli.review.session import TerminalReview, TerminalScreen, Verdict
from indwell.cli.stored.sessions import whole_id
from indwell.cli.terminal.interruptible_work import wait_for
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.telling import tell
from indwell.context.untrusted_text import visible
from indwell.errors import SessionError, ToolError, UserError
from indwell.files.listing import exists
from indwell.review.hunk import Actor, Hunk
from indwell.review.ledger import ReviewLedger
from indwell.review.verdicts import VerdictOutcome
from indwell.service.sessions.review_ledgers import open_ledger
from indwell.sessions.storage.retention import stored
from indwell.sessions.storage.store import SessionStore, folder_name, review_folder
from indwell.settings.paths import state_folder, undo_folder
from indwell.workspace.disk import DiskWorkspace


class HunkRow(msgspec.Struct, frozen=True):
    """A pending hunk; ``old`` and ``new`` are complete texts with their line ends."""

    id: str
    path: str
    line: int
    kind: str
    old: str
    new: str
    touched: bool
    note: str
    turns: tuple[Actor, ...]


class SkippedHunk(msgspec.Struct, frozen=True):
    """A hunk that was neither accepted nor rejected, with the reason, or empty for a whole file."""

    path: str
    why: str
    hunk: str = ""


class ReviewReport(msgspec.Struct, frozen=True):
    """The pending changes, or the result of a verdict.

    Attributes:
        folder: The workspace.
        hunks: The hunks that are still pending.
        accepted: Ids of accepted hunks.
        rejected: Ids of rejected hunks.
        kept: Hunks that could not be accepted or rejected.
        unsaved: Files that an editor has not saved yet, with the number of hunks in each file.
        copies: The folder with copies of the files before the reject.
    """

    folder: str
    hunks: tuple[HunkRow, ...]
    accepted: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    kept: tuple[SkippedHunk, ...] = ()
    unsaved: dict[str, int] = {}
    copies: dict[str, str] = {}


def rows(hunks: Iterable[Hunk]) -> tuple[HunkRow, ...]:
    """Convert hunks to rows of the report."""
    return tuple(
        HunkRow(
            id=one.id,
            path=named(one.path),
            line=one.line,
            kind=one.kind,
            old="".join(one.old),
            new="".join(one.new),
            touched=one.is_touched,
            note=one.note,
            turns=one.actors,
        )
        for one in hunks
    )


def kept_of(done: VerdictOutcome, looked: FileLook) -> tuple[SkippedHunk, ...]:
    """Return all verdicts that were requested but not carried out."""
    return (
        *(SkippedHunk(named(hunk.path), why, hunk.id) for hunk, why in done.kept),
        *(SkippedHunk(named(path), why) for path, why in done.failed),
        *(SkippedHunk("", "it is no longer pending", one) for one in done.unknown),
        *(SkippedHunk(named(path), UNSAVED) for path in looked.unsaved),
    )


def named(path: Path) -> str:
    """Return a path as text that JSON can contain."""
    return str(path)


MOST_SESSIONS = 20  # the limit of sessions, newest first, that may be open in an editor


class ReviewOptions(msgspec.Struct, frozen=True):
    """The options of ``indwell review``."""

    files: tuple[str, ...] = ()
    session: str = ""
    turn: int | None = None
    verdict: Verdict | None = None
    everything: bool = False
    json: bool = False
    diff: bool = False


class WrongLine(UserError):
    """The arguments of the command are wrong."""


def review(wish: ReviewOptions) -> int:
    """Review changes; return 0 if every answer was carried out, otherwise 1.

    Raises:
        WrongLine: The arguments are wrong.
    """
    try:
        return wait_for(_review(wish))
    except WrongLine:
        raise
    except (UserError, ToolError) as error:
        tell(visible(str(error)), file=sys.stderr)
        return 1


async def _review(wish: ReviewOptions) -> int:
    state = state_folder(os.environ)
    folder = _folder(Path.cwd(), state)
    workspace = DiskWorkspace([folder], private=undo_folder(os.environ))
    ledger = await open_ledger(os.environ, workspace.roots)
    try:
        return await _reviewed(wish, ledger, workspace, SessionStore(state, folder))
    finally:
        await ledger.close()


async def _reviewed(
    wish: ReviewOptions, ledger: ReviewLedger, workspace: DiskWorkspace, store: SessionStore
) -> int:
    everything = tuple(hunk for path in ledger.paths() for hunk in ledger.hunks(path))
    wanted = _wanted(wish, everything, store, workspace.roots[0])

    def is_edited(sessions: Collection[str]) -> bool:
        newest = [*sessions, *store.ids()[:MOST_SESSIONS]]
        return any(store.is_open(one) for one in dict.fromkeys(newest))

    for notice in ledger.take_notices():
        tell(visible(notice), file=sys.stderr)
    looked = await look(ledger, workspace, wanted, is_edited=is_edited)
    screen = TerminalScreen(Console(highlight=False), workspace.roots)
    doing = TerminalReview(ledger, workspace, wanted, is_edited, screen)
    if wish.verdict is not None:
        return await _judged(wish, doing, looked, workspace.roots[0])
    if wish.json:
        print(json_line(_report(workspace.roots[0], looked)))
        return 0
    if wish.diff:
        return await doing.print_diff(looked)
    doing.tell_aside(looked)
    if not looked.hunks:
        tell(
            "no change waits for review"
            if not looked.unsaved
            else "no other change waits for review"
        )
        return 0
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        screen.listed(looked.hunks)
        return 0
    return await doing.walk(looked)


async def _judged(
    wish: ReviewOptions, doing: TerminalReview, looked: FileLook, folder: Path
) -> int:
    assert wish.verdict is not None
    done = await doing.carry_out(wish.verdict, looked.hunks)
    kept = kept_of(done, looked)
    if wish.json:
        ids = tuple(one.id for one in done.hunks)
        after = await doing.look()
        report = msgspec.structs.replace(
            _report(folder, after),
            accepted=ids if wish.verdict == "accept" else (),
            rejected=ids if wish.verdict == "reject" else (),
            kept=kept,
            copies={named(path): named(copy) for path, copy in doing.copies.items()},
        )
        print(json_line(report))
    else:
        doing.tell_done(wish.verdict, done)
        _tell_kept(kept, doing)
        doing.tell_copies()
    return 1 if kept else 0


def _tell_kept(kept: Collection[SkippedHunk], doing: TerminalReview) -> None:
    for one in kept:
        doing.warn(f"not done: {Path(one.path).name or one.hunk}: {one.why}")


def _report(folder: Path, looked: FileLook) -> ReviewReport:
    unsaved = {named(path): len(hunks) for path, hunks in looked.unsaved.items()}
    return ReviewReport(folder=named(folder), hunks=rows(looked.hunks), unsaved=unsaved)


def _folder(here: Path, state: Path) -> Path:
    """Return the workspace: this folder, or the nearest parent in which an agent worked."""
    here = here.resolve()
    known = (one for one in (here, *here.parents) if exists(review_folder(state, one)))
    return next(known, here)


def _wanted(
    wish: ReviewOptions, pending: Collection[Hunk], store: SessionStore, folder: Path
) -> WantedFiles:
    """Return the files and hunks to review.

    Raises:
        WrongLine: The arguments match no change, or are ambiguous.
    """
    is_narrow = wish.files or wish.session or wish.turn is not None
    if wish.verdict is not None and not (is_narrow or wish.everything):
        raise WrongLine(f"--{wish.verdict}: name FILE, --session or --turn, or use --all")
    if wish.everything and is_narrow:
        raise WrongLine("--all: leave out either --all or FILE, --session and --turn")
    places = tuple(_place(one, pending) for one in wish.files)
    session = _session(wish.session, pending, store) if wish.session else ""
    if wish.turn is None:
        return WantedFiles(places, session)
    if wish.turn < 1:
        raise WrongLine(f"--turn: {wish.turn} is not the number of a turn; the first turn is 1")
    _check_turn(wish.turn, session, pending, folder)
    actors = {one for hunk in pending for one in hunk.actors if one.turn == wish.turn}
    sessions = sorted({one.session for one in actors})
    if not session and len(sessions) > 1:
        raise WrongLine(
            f"--turn: several sessions have this turn; choose one with --session: "
            f"{', '.join(sessions)}"
        )
    return WantedFiles(places, session or next(iter(sessions), ""), wish.turn)


def _check_turn(turn: int, session: str, pending: Collection[Hunk], folder: Path) -> None:
    """Check that the turn exists, even if none of its changes is pending any more.

    Raises:
        WrongLine: No session of the folder has this turn.
    """
    changed = (actor for one in pending for actor in one.actors)
    if any(one.turn == turn and session in {"", one.session} for one in changed):
        return
    state = state_folder(os.environ)
    found = stored(state, folder=folder_name(folder), limit=None)
    newest = max((one.overview.turns for one in found if session in {"", one.id}), default=0)
    if turn > newest:
        where = f"session {session!r}" if session else "this folder"
        last = f"the newest is {newest}" if newest else "there is none"
        raise WrongLine(f"--turn: {where} has no turn {turn}; {last}")


def _session(given: str, pending: Collection[Hunk], store: SessionStore) -> str:
    """Return the full id of a session.

    Raises:
        WrongLine: No session matches, or several sessions match.
    """
    theirs = {actor.session for one in pending for actor in one.actors}
    known = tuple(dict.fromkeys((*sorted(theirs), *store.ids())))
    try:
        session = whole_id(given, known)
        if session not in known:
            store.check(session)
    except SessionError as error:
        raise WrongLine(f"--session: {error}") from error
    return session


def _place(given: str, pending: Collection[Hunk]) -> Path:
    """Return a file or folder; a deleted file is valid while it has pending changes.

    Raises:
        WrongLine: The path does not exist.
    """
    path = Path(given)
    place = Path(os.path.normpath(Path.cwd() / path))
    if exists(place):
        return place.resolve()
    place = place.parent.resolve() / place.name
    if not any(one.path.is_relative_to(place) for one in pending):
        raise WrongLine(f"{given!r}: there is no such file, and it has no pending changes")
    return place
