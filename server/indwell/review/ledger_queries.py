"""Queries on the review ledger: pending hunks, texts, edits in progress, planned rejections."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from indwell.errors import EditRefused
from indwell.review.hunk import Actor, Hunk, Opaque, Order, Rejection, Verdict
from indwell.review.hunk_groups import Judged as Outcome
from indwell.review.hunk_groups import groups, is_pending, rejected, rewound
from indwell.review.ledger_replay import Followed, LedgerState, hunk_of, is_of_this_system
from indwell.review.store import LedgerReading
from indwell.review.weave import GONE, Weave, all_taken_out
from indwell.workspace.comparing.merge import merge

SUPERSEDED = "its changes were edited or judged again since"
CHANGED_SINCE = "you have changed the same lines since"
NO_TEXT = "it is not text, so the rejected bytes are gone"


class Unjudging(NamedTuple):
    """A plan to undo a verdict on a file: the text now, and the text afterwards."""

    now: str | None
    text: str | None


class Looking:
    """Answers queries from the log's records and the current texts of the files.

    Args:
        reading: The part of the log that was read.
        roots: Files outside these folders are hidden; if empty, all files are shown.
    """

    def __init__(self, reading: LedgerReading, roots: Sequence[Path]) -> None:
        self._reading = reading
        self._roots = tuple(roots)
        self._views = Views()
        self._underway = Underway()
        self._told: set[tuple[str, str]] = set()
        self._paths: dict[str, Path] = {}
        self._known: tuple[Path, ...] = ()
        self._known_of: LedgerState | None = None
        self._index: tuple[tuple[LedgerState, int, int], dict[str, Hunk]] | None = None

    def paths(self) -> tuple[Path, ...]:
        """Return the files with pending hunks, in order of their first change."""
        return tuple(path for path in self.known() if self.hunks(path))

    def known(self) -> tuple[Path, ...]:
        """Return all files in the ledger."""
        if self._known_of is not self._reading.state:
            names = filter(is_of_this_system, self._reading.state.files)
            paths = map(self._path, names)
            self._known = tuple(path for path in paths if self._is_within(path))
            self._known_of = self._reading.state
        return self._known

    def beneath(self, place: Path) -> tuple[Path, ...]:
        """Return the known files at a path, or inside the folder at that path."""
        return tuple(one for one in self.known() if one.is_relative_to(place))

    def hunks(self, path: Path) -> tuple[Hunk, ...]:
        """Return the pending hunks of a file, in line order."""
        name = str(path)
        weave = self._weave(name)
        if weave is None:
            return ()
        return self._views.hunks(name, weave, path)

    @property
    def stamp(self) -> tuple[LedgerReading, int, int]:
        """A value that changes whenever an answer of the queries may change."""
        return self._reading, self._views.version, len(self._underway)

    def find(self, hunk_id: str) -> Hunk | None:
        """Return the pending hunk with this id, if there is one."""
        of = (self._reading.state, self._views.version, len(self._underway))
        if self._index is None or self._index[0] != of:
            found = {one.id: one for path in self.known() for one in self.hunks(path)}
            self._index = (of, found)
        return self._index[1].get(hunk_id)

    def text(self, path: Path) -> str | None:
        """Return the file's last synced text, or None if there is no file or no known text."""
        weave = self._weave(str(path))
        return None if weave is None else weave.reads

    def recorded(self, path: Path) -> str | None:
        """Return the file's text in the newest record, or None if no file or text is recorded."""
        of = self._reading.state.files.get(str(path))
        return None if of is None else of.weave.reads

    def n_taken_back(self, path: Path) -> int:
        """Return how many verdicts and rewinds undid changes of a file, in any process."""
        return self._reading.state.taken_back[str(path)]

    def late(self, session: str, after_turn: int) -> tuple[Path, ...]:
        """Return files where an editor may still apply a withdrawn edit of a later turn."""

        def is_meant(weave: Weave) -> bool:
            marks = (one.born or one.died for one in weave.segments)
            return any(m and m.session == session and m.turn > after_turn for m in marks)

        files = self._reading.state.files
        return tuple(one for one in self.known() if any(map(is_meant, files[str(one)].late)))

    def base(self, path: Path) -> str | None:
        """Return the file's text without all pending changes."""
        weave = self._weave(str(path))
        return None if weave is None else all_taken_out(weave, is_pending).reads

    def before(self, path: Path, session: str, turn: int) -> str | None:
        """Return the file's text without the session's changes from ``turn`` on."""
        weave = self._weave(str(path))
        if weave is None:
            return None
        return rewound(weave, str(path), session, turn - 1, force=True).weave.reads

    @property
    def n_pending(self) -> int:
        """The number of pending hunks in all files."""
        return sum(len(self.hunks(path)) for path in self.known())

    def is_busy(self, path: Path) -> bool:
        """Return whether an agent's edit is in progress; listeners are called when it ends."""
        return str(path) in self._underway

    def rejection(
        self,
        path: Path,
        hunk_ids: Collection[str],
        *,
        force: bool = False,
        only: Collection[Actor] = (),
    ) -> Rejection:
        """Plan the rejection of hunks in a file.

        Args:
            path: The file.
            hunk_ids: Ids of pending hunks; other ids are ignored.
            force: Whether to include lines that the user has edited, and changes of later turns
                that build on the hunks.
            only: The actors whose changes are rejected, or empty for all actors.
        """
        name = str(path)
        weave = self._weave(name) or GONE
        actors = tuple((one.session, one.turn) for one in only)
        outcome = rejected(weave, name, frozenset(hunk_ids), actors, force=force)
        order = Order(ids=tuple(hunk_ids), only=tuple(only), force=force)
        return self._rejection(path, weave, outcome, order)

    def last_verdict(self, path: Path) -> str:
        """Return the id of the newest verdict on a file that can be undone, or an empty text."""
        of = self._reading.state.files.get(str(path))
        return of.judged[-1].verdict if of is not None and of.judged else ""

    def unjudging(self, path: Path, verdict: str) -> Unjudging:
        """Plan to undo a verdict on a file.

        Raises:
            EditRefused: The verdict is not the newest one, or the user has changed the same lines
                since.
        """
        name = str(path)
        of, weave = self._reading.state.files.get(name), self._weave(name)
        is_last = bool(verdict) and self.last_verdict(path) == verdict
        if of is None or weave is None or not is_last:
            raise EditRefused(SUPERSEDED)
        _, before, after = of.judged[-1]
        if len(before.opaque) != len(after.opaque):
            raise EditRefused(NO_TEXT)
        now = weave.reads
        if before.reads == after.reads:
            return Unjudging(now, now)
        if now in {after.reads, before.reads}:
            return Unjudging(now, before.reads)
        if now is None or before.reads is None or after.reads is None:
            raise EditRefused(CHANGED_SINCE)
        merged = merge(after.reads, now, before.reads)
        if merged.conflicts:
            raise EditRefused(CHANGED_SINCE)
        return Unjudging(now, merged.text)

    def rewinding(
        self, path: Path, session: str, after_turn: int, *, force: bool = False
    ) -> Rejection:
        """Plan to undo all changes of a session after a turn, even accepted changes."""
        name = str(path)
        weave = self._weave(name) or GONE
        outcome = rewound(weave, name, session, after_turn, force=force)
        order = Order(session=session, after_turn=after_turn, force=force)
        return self._rejection(path, weave, outcome, order)

    def untold(self, session: str) -> tuple[Verdict, ...]:
        """Return the verdicts that a session's model has not received, oldest first."""
        return tuple(
            verdict
            for name, (verdict, sessions) in self._reading.state.verdicts.items()
            if session in sessions and (name, session) not in self._told
        )

    def _rejection(self, path: Path, weave: Weave, outcome: Outcome, order: Order) -> Rejection:
        return Rejection(
            path=path,
            text=outcome.weave.reads,
            hunks=tuple(hunk_of(one, path) for one in outcome.groups),
            kept=tuple((hunk_of(one, path), reason) for one, reason in outcome.kept),
            before=weave.reads,
            order=order,
            opaque=_bytes_back(weave, outcome.weave),
            of=self._reading.state.files.get(str(path)),
        )

    def _weave(self, name: str) -> Weave | None:
        state = self._reading.state
        if name not in state.files:
            return None
        return self._views.weave(name, state, is_busy=name in self._underway)

    def _all(self) -> list[tuple[Hunk, ...]]:
        return [hunks for path in self.known() if (hunks := self.hunks(path))]

    def _path(self, name: str) -> Path:
        """Return the cached path, because paths are slow to create and to compare."""
        if name not in self._paths:
            self._paths[name] = Path(name)
        return self._paths[name]

    def _is_within(self, path: Path) -> bool:
        """Return whether the file is inside the roots and outside ``.git``; a log may be forged."""
        roots = [root for root in self._roots if path.is_relative_to(root)]
        if ".." in path.parts or (self._roots and not roots):
            return False
        n_shared = max((len(root.parts) for root in roots), default=0)
        return ".git" not in map(str.lower, path.parts[n_shared:])


def _bytes_back(weave: Weave, after: Weave) -> Opaque | None:
    """Combine the undone changes without lines into one change, or return None."""
    gone = [blob for blob in weave.opaque if blob not in after.opaque]
    if not gone:
        return None
    return Opaque(gone[-1].note, gone[0].before, gone[-1].after, gone[0].mode)


class _View(NamedTuple):
    of: Followed
    text: str | None
    weave: Weave


class Views:
    """Caches the last synced text of each file, its weave and its hunks."""

    def __init__(self) -> None:
        self.version = 0
        """Increases whenever a text changes."""
        self._texts: dict[str, str | None] = {}
        self._meanwhile: dict[str, str | None] = {}
        self._views: dict[str, _View] = {}
        self._hunks: dict[str, tuple[Weave, tuple[Hunk, ...]]] = {}

    def put(self, name: str, text: str | None) -> None:
        """Set the current text of a file."""
        self.version += 1
        self._texts[name] = text

    def forget(self, name: str) -> None:
        """Drop all state of a file."""
        self.version += 1
        for known in (self._texts, self._meanwhile, self._views, self._hunks):
            known.pop(name, None)

    def meanwhile(self, name: str, text: str | None) -> None:
        """Set the text that was synced during an agent's edit."""
        self._meanwhile[name] = text

    def after(self, name: str, own: tuple[str | None, ...]) -> str | None:
        """Return the text after an agent's edit, which is the last of ``own`` if nobody typed."""
        text = self._meanwhile.pop(name, own[-1])
        return own[-1] if text in own else text

    def prepare(self, name: str, text: str | None, of: Followed, weave: Weave) -> None:
        """Cache a weave that a thread computed, for a text that is about to be set."""
        self._views[name] = _View(of, text, weave)

    def weave(self, name: str, state: LedgerState, *, is_busy: bool) -> Weave:
        """Return the weave of the current text, or, during an agent's edit, of the text before."""
        of = state.files[name]
        view = self._views.get(name)
        if view is not None and is_busy:
            return view.weave
        if name not in self._texts or is_busy:
            return of.weave
        text = self._texts[name]
        if view is None or view.of is not of or not (view.text is text or view.text == text):
            view = self._views[name] = _View(of, text, state.seen(name, text))
        return view.weave

    def seen(self, name: str) -> frozenset[int]:
        """Return the serials of unjudged changes in the last synced text."""
        view = self._views.get(name)
        has_text = view is not None and name in self._texts and view.text == self._texts[name]
        return view.weave.unjudged if view is not None and has_text else frozenset()

    def hunks(self, name: str, weave: Weave, path: Path) -> tuple[Hunk, ...]:
        """Return the pending hunks of a file."""
        known = self._hunks.get(name)
        if known is None or known[0] is not weave:
            found = tuple(hunk_of(one, path) for one in groups(weave, is_pending, name))
            known = self._hunks[name] = (weave, found)
        return known[1]


BUSY_S = 10.0  # A verdict waits 10 s for another edit of the same file; editors answer sooner.


class Pending(msgspec.Struct, frozen=True):
    """An agent's edit in progress.

    Attributes:
        id: Id of the edit's ``Began`` record.
        path: The absolute path of the file.
        before: The text before the edit, or None if there is no file.
        proposed: The text that the edit should produce.
    """

    id: str
    path: Path
    before: str | None
    proposed: str


class Underway:
    """Counts the edits in progress of each file."""

    def __init__(self) -> None:
        self._names: dict[str, int] = {}
        self._ended = asyncio.Event()

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def __len__(self) -> int:
        return len(self._names)

    def begin(self, name: str) -> None:
        """Record that an edit has begun."""
        self._names[name] = self._names.get(name, 0) + 1

    def end(self, name: str) -> None:
        """Record that an edit has ended, and wake the waiting tasks."""
        left = self._names.pop(name) - 1
        if left:
            self._names[name] = left
        ended, self._ended = self._ended, asyncio.Event()
        ended.set()

    async def free(self, name: str) -> None:
        """Wait until a file has no edit in progress, for at most ``BUSY_S``."""
        with suppress(TimeoutError):
            async with asyncio.timeout(BUSY_S):
                while name in self:
                    await self._ended.wait()
