"""Runs a review ledger without a disk: a second ledger reads the first one's records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from indwell.review.hunk import Actor, Hunk, Order
from indwell.review.hunk_groups import groups, is_pending, rejected
from indwell.review.ledger_replay import LedgerState, hunk_of
from indwell.review.record_builder import CommandChange, Plan, Planner, judgement
from indwell.review.store import decoded, encoded
from indwell.review.weave import Weave

PATH = Path("/project/a.py")
NAME = str(PATH)


class PureLedger:
    """A ledger of one file; ``text`` is the file's current text."""

    def __init__(self, text: str | None) -> None:
        self.text = text
        self.state = LedgerState()
        self.log: list[bytes] = []
        self._planner = Planner(str)
        self._n_edits = 0

    def _append(self, plan: Plan) -> None:
        for one in plan(self.state):
            self.log.append(encoded(one.record))
            self.state.take(decoded(self.log[-1]))

    @property
    def weave(self) -> Weave:
        return self.state.seen(NAME, self.text) if NAME in self.state.files else Weave()

    def hunks(self) -> tuple[Hunk, ...]:
        return tuple(hunk_of(one, PATH) for one in groups(self.weave, is_pending, NAME))

    def reloaded(self) -> PureLedger:
        """Return a ledger that is restored from this ledger's log."""
        other = PureLedger(self.text)
        other._planner, other._n_edits, other.log = self._planner, self._n_edits, list(self.log)
        for line in self.log:
            other.state.take(decoded(line))
        return other

    def agent(self, turn: int, after: str | None, session: str = "s", *, ok: bool = False) -> None:
        """Change the file's text to ``after``, as the agent; ``ok`` means to accept at once."""
        change = CommandChange(PATH, self.text, after)
        plan = self._planner.made(Actor(session, turn), "t", [change], is_accepted=ok)
        self._append(plan)
        self.text = after

    def sync(self, text: str | None) -> bool:
        """Change the file's text outside the agent; return True if it is an earlier version."""
        self.text = text
        is_again = NAME in self.state.files and self.state.is_again(NAME, self.weave)
        if is_again:
            self._append(self._planner.noticed(NAME, text, self.state.files[NAME]))
        return is_again

    def begins(self, turn: int, after: str) -> str:
        self._n_edits += 1
        name = f"edit{self._n_edits}"
        change = CommandChange(PATH, self.text, after)
        self._append(self._planner.began(name, Actor("s", turn), "t", change))
        return name

    def finishes(self, name: str, after: str, *, ok: bool = False) -> None:
        self._append(self._planner.finished(NAME, name, after, is_accepted=ok))
        self.text = after

    def withdraws(self, name: str, *, may_come: bool) -> None:
        self._append(self._planner.withdrawn(NAME, name, may_come=may_come))

    def accept(self, ids: Sequence[str], only: Sequence[Actor] = ()) -> None:
        order = Order(ids=tuple(ids), only=tuple(only))
        plan = judgement(NAME, self.text, order, self.state.files[NAME], is_accepted=True)
        self._append(self._planner.judged([plan]))

    def reject(
        self, ids: Sequence[str], *, force: bool = False, only: Sequence[Actor] = ()
    ) -> list[str]:
        """Revert hunks; return the reasons for those that stay."""
        actors = tuple((one.session, one.turn) for one in only)
        outcome = rejected(self.weave, NAME, ids, actors, force=force)
        order = Order(tuple(one.id for one in outcome.groups), tuple(only), force=force)
        plan = judgement(NAME, self.text, order, self.state.files[NAME], is_accepted=False)
        self._append(self._planner.judged([plan]))
        self.text = outcome.weave.reads
        return [reason for _, reason in outcome.kept]
