"""Adds a review ledger to the edit machine: verdicts and rewinds between other actions.

The text alone shows whether a verdict was right. The user's text stays once. Accepting changes
nothing. Rejecting leaves exactly the planned text. A ledger that is restored from its log has the
same state.
"""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable
from pathlib import Path
from random import Random

from indwell.agent.permission.recorded_workspace import RecordedWorkspace
from indwell.review import verdicts
from indwell.review.hunk import Actor
from indwell.review.ledger import ReviewLedger
from indwell.review.verdicts import Scope, VerdictOutcome
from indwell.tools.base import ToolContext
from indwell.workspace.base import Workspace
from support.edit_machine import EditMachine, _nothing
from support.edit_model import a_moment
from support.edit_texts import without
from support.fake_editor.profiles import Profile

SESSION = "20261121-120000-000-abcdef"


class ReviewMachine(EditMachine):
    """The edit machine with reviews; call ``begin`` before the first step."""

    def __init__(self, path: Path, profile: Profile, random: Random, disk: Workspace) -> None:
        super().__init__(path, profile, random, disk)
        self.folder = Path(tempfile.mkdtemp(dir=path.parent.parent))
        self.turn = 1

    async def begin(self) -> None:
        """Open the ledger, and let the agent's tools write through it."""
        self.ledger = await ReviewLedger.open(self.folder, [])
        self._next_turn()

    def _next_turn(self) -> None:
        workspace = RecordedWorkspace(
            self.editor.workspace,
            self.ledger,
            Actor(SESSION, self.turn),
            "use",
            # If true, the ledger accepts the edit at once, as in mode auto.
            lambda: self.turn % 4 == 0,
        )
        self.context = ToolContext(
            workspace=workspace,
            seen=self.seen,
            spill=self._no_spill,
            on_output=lambda _text: None,
        )

    async def step(self) -> None:
        """Run a step of the base class, or a step of review."""
        if self.random.random() < 0.7:
            await super().step()
        else:
            names = ["rejects", "rejects", "accepts", "rewinds", "begins_a_turn", "starts_again"]
            names += ["is_renamed"]
            name = self.random.choice(names)
            self.told.append(name)
            self._agree()
            await getattr(self, f"_{name}")()
            await self._look()
        await self._review()

    async def _review(self) -> None:
        """Accept or reject some of the ledger's hunks of the file."""
        self.editor.desk.tell()
        await a_moment()
        text = self._real()
        self.ledger.sync(self.path, text)
        if self.path not in self.ledger.known():
            return
        assert self.ledger.text(self.path) == text, "the ledger has another text"
        lines = text.splitlines(keepends=True) if text.isascii() else None
        for one in self.ledger.hunks(self.path):
            self.tally["hunks seen"] += 1
            if lines is not None and "\f" not in text:
                there = tuple(lines[one.line - 1 : one.line - 1 + len(one.new)])
                assert "".join(there) == "".join(one.new), "a hunk stands elsewhere"

    async def _accepts(self) -> None:
        await self._review()
        before, some = self._real(), self._some()
        if not some:
            return
        done = await verdicts.accept(self.ledger, self.editor.workspace, Scope(hunks=some))
        assert self._real() == before, "accepting changed the text"
        assert {one.id for one in done.hunks} == set(some)
        left = {one.id for one in self.ledger.hunks(self.path)}
        assert left.isdisjoint(some), "accepted, and still pending"
        self.tally["accepted"] += len(some)

    async def _rejects(self) -> None:
        await self._review()
        some = self._some()
        if not some:
            return
        force = self.random.random() < 0.2
        plan = self.ledger.rejection(self.path, some, force=force)
        scope = Scope(hunks=some)
        work = verdicts.reject(self.ledger, self.editor.workspace, scope, force=force)
        await self._takes_back(plan.text, work, force=force, what="rejected")

    async def _rewinds(self) -> None:
        await self._review()
        after = max(self.turn - self.random.randrange(1, 4), 0)
        plan = self.ledger.rewinding(self.path, SESSION, after)
        work = verdicts.rewind_files(self.ledger, self.editor.workspace, SESSION, after)
        await self._takes_back(plan.text, work, force=False, what="rewound")

    async def _takes_back(
        self, planned: str | None, work: Awaitable[VerdictOutcome], *, force: bool, what: str
    ) -> None:
        """Reject hunks, sometimes while the user types, and compare the result with the plan."""
        before = self._real()
        raced: list[str] = []
        behaviour = self.editor.desk.behaviour
        if self.random.random() < 0.3 and behaviour.versions != "any" and self.text is not None:
            self._set_race(raced)
        done = await work
        self.editor.moments.before = self.editor.moments.after = _nothing
        await a_moment()
        after = self._real()
        for token in raced:
            pieces = [piece for piece in token.splitlines() if piece not in {"", "]"}]
            found = [after.count(piece) for piece in pieces]
            assert set(found) == {1}, f"the keystroke {token!r} is lost: {after!r}; {done}"
        if not raced:
            wanted = self._as_written({planned or "", before}, whole=False)
            assert after in wanted, f"not what was planned: {after!r} instead of {planned!r}"
        if not force and not any("\n" in token for token in raced):  # The user typed this text.
            ending = self.buffer.ending if self.text is not None else ""
            typed = self._texts.typed_in(before, ending)
            # Restored lines may separate two typed lines.
            pieces = [piece for one in typed for piece in one.splitlines()]
            there = without(after, raced) + "".join(self._waiting())
            lost = [one for one in pieces if one not in there]
            assert not lost, f"{what}, typed and gone: {lost}; {done}"
        if after == before and done.hunks and planned != before:
            assert self._may_lie(), f"told as {what}, and nothing was"
        self.tally[what if done.hunks else f"not {what}"] += 1
        self.tally["kept"] += len(done.kept)
        self._keep(after, raced)

    def _waiting(self) -> list[str]:
        """Return lines that rejecting other hunks would restore."""
        self.ledger.sync(self.path, self._real())
        return [line for one in self.ledger.hunks(self.path) for line in one.old]

    def _may_lie(self) -> bool:
        behaviour = self.editor.desk.behaviour
        return not behaviour.takes and behaviour.refusal == "true"

    def _some(self) -> tuple[str, ...]:
        hunks = self.ledger.hunks(self.path)
        return tuple(one.id for one in hunks if self.random.random() < 0.6)

    async def _begins_a_turn(self) -> None:
        self.turn += 1
        self._next_turn()

    async def _starts_again(self) -> None:
        """Restore the ledger from the log, as after a kill of the server."""
        await self._review()
        before = self.ledger.hunks(self.path)
        await self.ledger.close()
        ledger = await ReviewLedger.open(self.folder, [])
        assert not ledger.take_notices()
        ledger.sync(self.path, self._real())
        assert ledger.hunks(self.path) == before, "another ledger after a start"
        await ledger.close()
        self.ledger = ledger
        self._next_turn()
        self.tally["started again"] += 1

    async def _is_renamed(self) -> None:
        """Move the file away and back, as a checkout does, while it is closed."""
        if self.text is not None or self.held:
            return
        self.ledger.sync(self.path, None)
        assert self.ledger.hunks(self.path) == ()
        self.tally["gone and back"] += 1
