"""Random histories of a file, compared with a simple model that has one object per line."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.lines_oracle import ByLines
from support.pure_ledger import NAME, PureLedger

ENDS = ("\n", "\r\n", "\r")


class Life:
    """Makes the same random changes to one file in the ledger and in the oracle."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.n_lines = 0
        self.end = self.rng.choice(ENDS)
        base = self.fresh(self.rng.randrange(0, 12))
        self.oracle = ByLines(base)
        self.ledger = PureLedger(self.oracle.text)
        self.past: list[ByLines] = []
        self.was_touched = False
        self.turn = 1
        # Lines of the agent that the user deleted; if they reappear, they belong to the user.
        self.deleted: set[str] = set()

    def fresh(self, n: int) -> list[str]:
        lines = []
        for _ in range(n):
            self.n_lines += 1
            lines.append(f"{self.rng.getrandbits(64):016x}{self.n_lines}{self.end}")
        return lines

    def step(self) -> None:
        acts = [self.agent, self.agent, self.types, self.types, self.deletes, self.undoes]
        acts += [self.accepts, self.rejects, self.reloads, self.rewrites]
        act = self.rng.choice(acts)
        act()
        self.check()

    def span(self) -> tuple[int, int]:
        n = len(self.oracle.visible)
        at = self.rng.randrange(n + 1)
        return at, min(self.rng.choice((0, 1, 1, 2, 3)), n - at)

    def agent(self) -> None:
        self.past.append(self.oracle.copy())
        self.turn += self.rng.randrange(2)
        self.ledger.text = self.oracle.text
        at, n_gone = self.span()
        self.oracle.agent(at, n_gone, self.fresh(self.rng.randrange(0 if n_gone else 1, 4)))
        self.ledger.agent(self.turn, self.oracle.text)

    def types(self) -> None:
        self.past.append(self.oracle.copy())
        at, _ = self.span()
        self.oracle.types(at, self.fresh(self.rng.randrange(1, 3)))

    def deletes(self) -> None:
        self.past.append(self.oracle.copy())
        at, n_gone = self.span()
        doomed = self.oracle.visible[at : at + n_gone]
        self.deleted |= {one.text for one in doomed if one.is_new}
        self.oracle.deletes(at, n_gone)

    def rewrites(self) -> None:
        """Type into a line, which then belongs to the user."""
        n = len(self.oracle.visible)
        if not n:
            return
        self.past.append(self.oracle.copy())
        one = self.oracle.visible[self.rng.randrange(n)]
        self.n_lines += 1
        one.text = f"{one.text.rstrip()}x{self.n_lines}{self.end}"
        self.was_touched = self.was_touched or one.is_new
        one.is_typed = True

    def undoes(self) -> None:
        if self.past:
            for _ in range(self.rng.randrange(1, min(4, len(self.past)) + 1)):
                self.oracle = self.past.pop()
                if self.ledger.sync(self.oracle.text):
                    # The user's text may equal the text that the agent removed.
                    is_changed = any(one.is_new or one.is_gone for one in self.oracle.lines)
                    self.was_touched = self.was_touched or is_changed != bool(self.ledger.hunks())

    def accepts(self) -> None:
        self.ledger.text = self.oracle.text
        some = [one for one in self.ledger.hunks() if self.rng.randrange(2)]
        if some:
            self.ledger.accept([one.id for one in some])
            for one in some:
                self.oracle.accept(one.new, one.old)
            self.past.clear()

    def rejects(self) -> None:
        self.ledger.text = self.oracle.text
        some = [one for one in self.ledger.hunks() if self.rng.randrange(2)]
        if some:
            typed = self.oracle.typed()
            kept = self.ledger.reject([one.id for one in some])
            assert len(kept) == sum(one.is_touched for one in some)
            for one in some:
                if not one.is_touched:
                    self.oracle.reject(one.new, one.old)
            lines = Counter((self.ledger.text or "").splitlines(keepends=True))
            assert not typed - lines, "a typed line was lost"
            self.past.clear()
            if not self.was_touched and not self.deleted:
                assert sorted(lines.elements()) == sorted(one.text for one in self.oracle.visible)
            self.follow(self.ledger.text or "")

    def follow(self, text: str) -> None:
        """Adopt the ledger's order of lines next to restored lines, which the model cannot know."""
        known = {one.text: one for one in self.oracle.visible}
        lines = text.splitlines(keepends=True)
        if [one.text for one in self.oracle.visible] != lines and sorted(known) == sorted(lines):
            gone = [one for one in self.oracle.lines if one.is_gone]
            self.oracle.lines = [known[line] for line in lines]
            if gone:
                self.was_touched = True  # the model does not know the old position of these lines
        elif [one.text for one in self.oracle.visible] != lines:
            self.oracle = ByLines(lines)
            self.was_touched = True

    def reloads(self) -> None:
        again = self.ledger.reloaded()
        assert again.hunks() == self.ledger.hunks()
        self.ledger = again

    def check(self) -> None:
        if self.ledger.sync(self.oracle.text):
            self.was_touched = True  # the typed text equals the text after an undo
        weave = self.ledger.weave
        if NAME not in self.ledger.state.files:
            return
        assert weave.text == self.oracle.text
        hunks = self.ledger.hunks()
        lines = self.oracle.text.splitlines(keepends=True)
        for one in hunks:
            assert list(one.new) == lines[one.line - 1 : one.line - 1 + len(one.new)]
        self.was_touched = self.was_touched or any(one.is_touched for one in hunks)
        if self.was_touched:
            return  # the owner of such lines is ambiguous; ``test_others_edits`` tests these cases
        other = self.ledger.reloaded()
        other.reject([one.id for one in hunks])
        left = (other.text or "").splitlines(keepends=True)
        wanted = self.oracle.without_agent()
        assert sorted(set(left) - self.deleted) == sorted(set(wanted) - self.deleted)
        assert set(wanted) <= set(left)


def lives(seed: int, n_steps: int) -> None:
    life = Life(seed)
    for _ in range(n_steps):
        life.step()


@settings(max_examples=80, deadline=None)
@example(522)  # replaces a pending line, a line of the user and an accepted line
@example(1163)
@given(st.integers(0, 2**32))
def test_random_histories_of_a_file_keep_typed_lines_and_revert_agent_lines(seed: int) -> None:
    lives(seed, 25)


TEXTS = st.lists(
    st.sampled_from(["a", "b b", "\r", "\n", "\r\n", " ", "\f", "é\u2028"]), max_size=9
)


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.lists(st.tuples(st.sampled_from("ausrxo"), TEXTS), max_size=8))
def test_a_weave_of_any_lines_gives_back_the_text_of_its_file(
    base: list[str], acts: list[tuple[str, list[str]]]
) -> None:
    ledger = PureLedger("".join(base))
    for turn, (act, pieces) in enumerate(acts):
        text = "".join(pieces)
        match act:
            case "a":
                ledger.agent(turn, text, ok=turn % 3 == 2)
            case "u" | "s":
                ledger.sync(text)
            case "x":
                ledger.sync(None if turn % 2 else text)
            case "o" if ledger.text is not None and NAME in ledger.state.files:
                ledger.accept([one.id for one in ledger.hunks()[::2]])
            case "r" if NAME in ledger.state.files:
                ledger.reject([one.id for one in ledger.hunks()], force=turn % 2 == 0)
        if NAME in ledger.state.files:
            assert ledger.weave.reads == ledger.text
            again = ledger.reloaded()
            assert (again.weave.reads, again.hunks()) == (ledger.text, ledger.hunks())
