"""What the ledger knows, to be looked at: hunks, texts, what taking something back comes to."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from indwell.review.folding import State, hunk_of
from indwell.review.groups import is_pending
from indwell.review.hunk import Actor, Hunk, Opaque, Order, Rejection, Verdict
from indwell.review.judging import Judged as Outcome
from indwell.review.judging import rejected, rewound
from indwell.review.store import Reading
from indwell.review.taking import all_taken_out
from indwell.review.underway import Underway
from indwell.review.views import Views
from indwell.review.weave import GONE, Weave


class Looking:
    """The records and the texts of the files, as they are known just now; changes nothing.

    Args:
        reading: Of the log.
        roots: Files outside are not shown; empty: all are.
    """

    def __init__(self, reading: Reading, roots: Sequence[Path]) -> None:
        self._reading = reading
        self._roots = tuple(roots)
        self._views = Views()
        self._underway = Underway()
        self._told: set[tuple[str, str]] = set()
        self._paths: dict[str, Path] = {}
        self._known: tuple[Path, ...] = ()
        self._known_of: State | None = None
        self._index: tuple[tuple[State, int, int], dict[str, Hunk]] | None = None

    def paths(self) -> tuple[Path, ...]:
        """Files with pending hunks, in the order of their first change."""
        return tuple(path for path in self.known() if self.hunks(path))

    def known(self) -> tuple[Path, ...]:
        """All files that are followed."""
        if self._known_of is not self._reading.state:
            paths = map(self._path, self._reading.state.files)
            self._known = tuple(path for path in paths if self._is_within(path))
            self._known_of = self._reading.state
        return self._known

    def beneath(self, place: Path) -> tuple[Path, ...]:
        """Those of them at a place, or in the folder there."""
        return tuple(one for one in self.known() if one.is_relative_to(place))

    def hunks(self, path: Path) -> tuple[Hunk, ...]:
        """The pending hunks of a file, by line."""
        name = str(path)
        weave = self._weave(name)
        if weave is None:
            return ()
        return self._views.hunks(name, weave, path)

    def find(self, hunk_id: str) -> Hunk | None:
        """A pending hunk by its id."""
        of = (self._reading.state, self._views.version, len(self._underway))
        if self._index is None or self._index[0] != of:
            found = {one.id: one for path in self.known() for one in self.hunks(path)}
            self._index = (of, found)
        return self._index[1].get(hunk_id)

    def text(self, path: Path) -> str | None:
        """What the file reads, as far as it was told; None if there is none, or it is unknown."""
        weave = self._weave(str(path))
        return None if weave is None else weave.reads

    def recorded(self, path: Path) -> str | None:
        """What the file read by the newest record; None if there was none, or it is unknown."""
        of = self._reading.state.files.get(str(path))
        return None if of is None else of.weave.reads

    def n_taken_back(self, path: Path) -> int:
        """How many verdicts and rewinds took something of a file back, in any process."""
        return self._reading.state.taken_back[str(path)]

    def late(self, session: str, after_turn: int) -> tuple[Path, ...]:
        """Files with a change of a session's later turns that may come, and was not seen yet."""

        def is_meant(weave: Weave) -> bool:
            marks = (one.born or one.died for one in weave.segments)
            return any(m and m.session == session and m.turn > after_turn for m in marks)

        files = self._reading.state.files
        return tuple(one for one in self.known() if any(map(is_meant, files[str(one)].late)))

    def base(self, path: Path) -> str | None:
        """What the file would read without all pending changes."""
        weave = self._weave(str(path))
        return None if weave is None else all_taken_out(weave, is_pending).reads

    def before(self, path: Path, session: str, turn: int) -> str | None:
        """What the file would read without a turn and later ones of its session."""
        weave = self._weave(str(path))
        if weave is None:
            return None
        return rewound(weave, str(path), session, turn - 1, force=True).weave.reads

    @property
    def n_pending(self) -> int:
        """Pending hunks of all files."""
        return sum(len(self.hunks(path)) for path in self.known())

    def is_busy(self, path: Path) -> bool:
        """Is a change of the agent underway? When it ends, the listeners are told."""
        return str(path) in self._underway

    def rejection(
        self,
        path: Path,
        hunk_ids: Collection[str],
        *,
        force: bool = False,
        only: Collection[Actor] = (),
    ) -> Rejection:
        """What taking hunks of a file back comes to.

        Args:
            path: The file.
            hunk_ids: Pending ones; others are left out.
            force: Also what the user rewrote, and what a later turn built on it.
            only: Only what these did; empty: all of it.
        """
        name = str(path)
        weave = self._weave(name) or GONE
        actors = tuple((one.session, one.turn) for one in only)
        outcome = rejected(weave, name, frozenset(hunk_ids), actors, force=force)
        order = Order(ids=tuple(hunk_ids), only=tuple(only), force=force)
        return self._rejection(path, weave, outcome, order)

    def rewinding(
        self, path: Path, session: str, after_turn: int, *, force: bool = False
    ) -> Rejection:
        """What taking out all that a session did after a turn comes to, accepted or not."""
        name = str(path)
        weave = self._weave(name) or GONE
        outcome = rewound(weave, name, session, after_turn, force=force)
        order = Order(session=session, after_turn=after_turn, force=force)
        return self._rejection(path, weave, outcome, order)

    def untold(self, session: str) -> tuple[Verdict, ...]:
        """Verdicts on hunks of a session that its model was not told of, oldest first."""
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
        """Made once; a path is slow to make and to compare."""
        if name not in self._paths:
            self._paths[name] = Path(name)
        return self._paths[name]

    def _is_within(self, path: Path) -> bool:
        """Whoever wrote the log: nothing outside, and nothing that git would run or believe."""
        roots = [root for root in self._roots if path.is_relative_to(root)]
        if ".." in path.parts or (self._roots and not roots):
            return False
        n_shared = max((len(root.parts) for root in roots), default=0)
        return ".git" not in map(str.lower, path.parts[n_shared:])


def _bytes_back(weave: Weave, after: Weave) -> Opaque | None:
    """From the first of the changes without lines that go to the last; None if none goes."""
    gone = [blob for blob in weave.opaque if blob not in after.opaque]
    if not gone:
        return None
    return Opaque(gone[-1].note, gone[0].before, gone[-1].after, gone[0].mode)
