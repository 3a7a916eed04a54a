"""Runs ``indwell review``: shows hunks, asks whether to accept or reject, and does so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from rich.console import Console
from rich.text import Text

from indwell.cli.review.files import UNSAVED, FileLook, WantedFiles, look
from indwell.cli.terminal.stdin import YES_OR_NO, TypedLine, chosen, typed_line
from indwell.cli.terminal.telling import told
from indwell.context.untrusted_text import one_line, visible
from indwell.errors import ToolError
from indwell.review.hunk import Hunk
from indwell.review.ledger import ReviewLedger
from indwell.review.verdicts import Scope, VerdictOutcome, accept, reject
from indwell.workspace.base import Workspace
from indwell.workspace.comparing.diff import CONTEXT, unified_diff
from indwell.workspace.paths import display
from indwell.workspace.text import split_lines

Verdict: TypeAlias = Literal["accept", "reject"]

KEYS = "[a]ccept, [r]eject, [n]ext, [b]ack, [A]/[R] rest of the file, [q]uit, [?]"
HELP = """\
a  accept: the change counts as yours, the file stays unchanged
r  reject: undo the change, your own lines stay
A  accept this one and all later ones in this file
R  reject this one and all later ones in this file
n  leave it pending, show the next one (or press Enter)
b  show the previous one
q  quit; your answers so far stay in force
?  this help"""


class Judge(msgspec.Struct, frozen=True):
    """The user accepts or rejects the shown hunk, or this and all later hunks of the file."""

    verdict: Verdict
    hunks: tuple[Hunk, ...]


class Move(msgspec.Struct, frozen=True):
    """The user wants to see the hunk with this index; a too large index ends the review."""

    at: int


class Quit(msgspec.Struct, frozen=True):
    """The user wants to end the review."""


class Tell(msgspec.Struct, frozen=True):
    """A message for the user, after which the question is asked again."""

    words: str


Step: TypeAlias = Judge | Move | Quit | Tell


def step(hunks: Sequence[Hunk], at: int, typed: str) -> Step:
    """Parse the line that the user typed about ``hunks[at]``; a capital is for the file's rest."""
    current = hunks[at]
    match typed.strip():
        case "a" | "r" as key:
            return Judge("accept" if key == "a" else "reject", (current,))
        case "A" | "R" as key:
            rest = tuple(one for one in hunks[at:] if one.path == current.path)
            return Judge("accept" if key == "A" else "reject", rest)
        case "n" | "":
            return Move(at + 1)
        case "b" if at == 0:
            return Tell("this is the first one")
        case "b":
            return Move(at - 1)
        case "q":
            return Quit()
        case "?":
            return Tell(HELP)
        case other:
            return Tell(f"{other[:20]!r} is not one of the letters; ? explains them")


def place_of(hunks: Sequence[Hunk], shown: Hunk, at: int) -> int:
    """Return the index of the shown hunk, or of its successor, in a new list."""
    found = (index for index, one in enumerate(hunks) if one.id == shown.id)
    return min(next(found, at), len(hunks))


_WORDS: Mapping[Verdict, str] = {"accept": "accepted", "reject": "rejected"}


class ReviewTally:
    """Counts the accepted and rejected hunks of a review.

    Args:
        n_left: The number of pending hunks.
    """

    def __init__(self, n_left: int) -> None:
        self._n_left = n_left
        self._n_done = dict.fromkeys(_WORDS, 0)

    @property
    def n_done(self) -> int:
        """The number of verdicts that were carried out."""
        return sum(self._n_done.values())

    @property
    def words(self) -> str:
        """One line that says how many hunks were accepted and rejected."""
        counts = [f"{number} {_WORDS[name]}" for name, number in self._n_done.items() if number]
        left = f"{self._n_left} left pending" if self._n_left else "nothing is left pending"
        return ", ".join([*counts, left])

    def add(self, verdict: Verdict, number: int, *, n_left: int) -> None:
        """Count a verdict that was carried out."""
        self._n_done[verdict] += number
        self._n_left = n_left


class TerminalReview:
    """Reviews the selected hunks at a terminal.

    Args:
        ledger: The ledger, which editors with the same workspace share.
        workspace: The files on disk.
        wanted: The selected hunks.
        is_edited: Returns whether an editor has one of the sessions open; blocks.
        screen: Shows the review.
        typed: Shows a prompt and reads a line.

    Attributes:
        copies: The folder into which files are copied before a reject changes them.
    """

    def __init__(
        self,
        ledger: ReviewLedger,
        workspace: Workspace,
        wanted: WantedFiles,
        is_edited: Callable[[Collection[str]], bool],
        screen: TerminalScreen,
        *,
        typed: TypedLine = typed_line,
    ) -> None:
        self._typed = typed
        self._ledger = ledger
        self._workspace = workspace
        self._wanted = wanted
        self._is_edited = is_edited
        self._screen = screen
        self.copies: dict[Path, Path] = {}

    async def look(self) -> FileLook:
        """Return the hunks that are still pending; an editor may have accepted some meanwhile."""
        await self._ledger.refresh()
        return await look(self._ledger, self._workspace, self._wanted, is_edited=self._is_edited)

    async def carry_out(
        self, verdict: Verdict, hunks: Sequence[Hunk], *, force: bool = False
    ) -> VerdictOutcome:
        """Accept or reject these hunks; before a reject, copy the files."""
        if not hunks:
            return VerdictOutcome()
        scope = Scope(
            hunks=tuple(one.id for one in hunks),
            session=self._wanted.session or None,
            turn=self._wanted.turn or None,
        )
        if verdict == "accept":
            return await accept(self._ledger, self._workspace, scope)
        for path in dict.fromkeys(one.path for one in hunks):
            await self._keep(path)
        done = await reject(self._ledger, self._workspace, scope, force=force)
        self.copies.update(done.copies)
        return done

    async def walk(self, looked: FileLook) -> int:
        """Ask about each hunk in order; return 1 if an answer could not be carried out."""
        tally = ReviewTally(len(looked.hunks))
        try:
            return await self._walk(looked, tally)
        except asyncio.CancelledError:
            self._screen.say("")  # print an empty line below the question
            raise
        finally:
            self._screen.say(tally.words)
            self.tell_copies()

    async def _walk(self, looked: FileLook, tally: ReviewTally) -> int:
        at, code = 0, 0
        while at < len(looked.hunks):
            shown, text = looked.hunks[at], looked.texts.get(looked.hunks[at].path)
            number = at + 1 + tally.n_done
            total = len(looked.hunks) + tally.n_done
            self._screen.hunk(shown, text, number=number, total=total)
            move = await self._asked(looked.hunks, at)
            if isinstance(move, Quit):
                break
            if isinstance(move, Move):
                at = move.at
                continue
            done = await self._judge(move)
            looked = await self.look()
            tally.add(move.verdict, len(done.hunks), n_left=len(looked.hunks))
            code = 1 if done.failed or done.unknown else code
            there = place_of(looked.hunks, shown, at)
            still = there < len(looked.hunks) and looked.hunks[there].id == shown.id
            at = there + 1 if still else there
        return code

    async def _asked(self, hunks: Sequence[Hunk], at: int) -> Judge | Move | Quit:
        while True:
            typed = await self._typed(f"{KEYS}? ")
            if typed is None:
                return Quit()
            said = step(hunks, at, typed)
            if not isinstance(said, Tell):
                return said
            self._screen.say(said.words)

    async def _judge(self, judge: Judge) -> VerdictOutcome:
        """Accept or reject; ask the user again if a hunk contains lines that others changed."""
        done = await self.carry_out(judge.verdict, judge.hunks)
        for hunk, why in done.kept:
            self._screen.warn(f"{self._screen.heading(hunk)}: {why}")
        if done.kept:
            question = "Reject it anyway, with those lines? [y/N] "
            said = await chosen(
                question, YES_OR_NO, lambda: self._screen.say("Type y or n."), self._typed
            )
            if said:
                kept = tuple(hunk for hunk, _ in done.kept)
                forced = await self.carry_out(judge.verdict, kept, force=True)
                done = msgspec.structs.replace(
                    forced,
                    hunks=done.hunks + forced.hunks,
                    failed=done.failed + forced.failed,
                    unknown=done.unknown + forced.unknown,
                )
        for path, why in done.failed:
            self._screen.warn(f"{self._screen.name(path)}: {why}")
        if done.unknown:
            self._screen.warn("it has changed since it was shown; review it again")
        return done

    async def print_diff(self, looked: FileLook) -> int:
        """Print the selected hunks as one diff."""
        for path in dict.fromkeys(one.path for one in looked.hunks):
            hunks = [one for one in looked.hunks if one.path == path]
            name = display(path, self._workspace.roots)
            for one in hunks:
                if one.kind == "opaque":
                    print(visible(f"# {name}: {one.note}"))
            lines = [one.id for one in hunks if one.kind != "opaque"]
            if lines:
                without = self._ledger.rejection(path, tuple(lines), force=True).text
                text = unified_diff(without, looked.texts[path], name)
                print(visible(text.replace("\r\n", "\n")), end="")
        self.tell_aside(looked)
        return 0

    def tell_aside(self, looked: FileLook) -> None:
        """Report the hunks that the review skips, with the reasons."""
        for path, hunks in looked.unsaved.items():
            self._screen.warn(f"{self._screen.name(path)}: {_changes(len(hunks))}, {UNSAVED}")

    def tell_done(self, verdict: Verdict, done: VerdictOutcome) -> None:
        """Report the hunks on which a verdict was carried out."""
        for path in dict.fromkeys(one.path for one in done.hunks):
            number = sum(one.path == path for one in done.hunks)
            self._screen.say(f"{_WORDS[verdict]}: {self._screen.name(path)} ({_changes(number)})")
        if not done.hunks:
            self._screen.say(f"nothing was {_WORDS[verdict]}")

    def tell_copies(self) -> None:
        """Report the folder with the copies of the files."""
        for path, copy in self.copies.items():
            self._screen.say(f"as it was: {self._screen.name(path)} is kept in {copy}", "dim")

    def warn(self, words: str) -> None:
        """Report that a verdict was not carried out."""
        self._screen.warn(words)

    async def _keep(self, path: Path) -> None:
        """Copy a file, once in a run; if that fails, no change in the file is rejected.

        Raises:
            ToolError: The copy cannot be written.
        """
        if path in self.copies:
            return
        try:
            snapshot = await self._workspace.read(path)
        # There is no text to copy; the code that restores the file keeps a copy.
        except ToolError:
            return
        copy = await self._workspace.keep(snapshot)
        if copy is not None:
            self.copies[path] = copy


def _changes(number: int) -> str:
    return "1 change" if number == 1 else f"{number} changes"


_COLOURS = {"-": "red", "+": "green"}
_KINDS = {
    "create": "new file",
    "delete": "deleted file",
    "opaque": "not shown line by line",
}


class TerminalScreen:
    """Prints the review for people.

    Args:
        console: Receives the output.
        roots: The folders of the workspace; file names are relative to the first folder.
    """

    def __init__(self, console: Console, roots: Sequence[Path]) -> None:
        self._console = console
        self._roots = roots

    def name(self, path: Path) -> str:
        """Return a displayed file name, without control characters for the terminal."""
        return one_line(display(path, self._roots))

    def heading(self, hunk: Hunk) -> str:
        """Return a line with the position, the turn and the size of a hunk."""
        facts = [f"+{len(hunk.new)} −{len(hunk.old)}", whose(hunk)]
        facts += [_KINDS[hunk.kind]] if hunk.kind in _KINDS else []
        facts += ["changed by you since"] if hunk.is_touched else []
        facts += [one_line(hunk.note)] if hunk.note else []
        return f"{self.name(hunk.path)}:{hunk.line}  {' · '.join(facts)}"

    def hunk(self, hunk: Hunk, text: str | None, *, number: int, total: int) -> None:
        """Show a complete hunk with context, because the answer applies to exactly this text."""
        self._print(Text(f"\n({number}/{total}) {self.heading(hunk)}", style="bold"))
        for sign, line in lines_of(hunk, text):
            self._print(Text(f"{sign}{line}", style=_COLOURS.get(sign, "dim")))

    def listed(self, hunks: Sequence[Hunk]) -> None:
        """Show one line for each hunk."""
        for one in hunks:
            self._print(Text(f"{one.id}  {self.heading(one)}"))

    def say(self, words: str, style: str = "") -> None:
        """Print sentences to the terminal."""
        self._print(Text(visible(told(words)), style=style))

    def warn(self, words: str) -> None:
        """Print a warning to the terminal."""
        self.say(words, "yellow")

    def _print(self, text: Text) -> None:
        self._console.print(text, emoji=False, highlight=False, soft_wrap=True)


def whose(hunk: Hunk) -> str:
    """Return the turns that made the hunk, with their sessions if there are several."""
    sessions = dict.fromkeys(one.session for one in hunk.actors)
    turns = [str(one.turn) for one in hunk.actors]
    words = f"turn {turns[0]}" if len(turns) == 1 else f"turns {', '.join(turns)}"
    return f"{words} of {', '.join(sessions)}"


def lines_of(hunk: Hunk, text: str | None) -> Iterator[tuple[str, str]]:
    r"""Yield the lines of a hunk with context, with signs and visible control characters.

    If only some lines end in ``\r\n``, those line ends are shown, because they may be the only
    difference.

    Args:
        hunk: The hunk.
        text: The present text of the hunk's file.
    """
    whole = split_lines(text) if text is not None and hunk.kind != "opaque" else []
    first, stop = hunk.line - 1, hunk.line - 1 + len(hunk.new)
    before, after = whole[max(first - CONTEXT, 0) : first], whole[stop : stop + CONTEXT]
    ends = {_end(line) for line in (*hunk.old, *hunk.new)} - {""}
    shows_ends = len(ends) > 1
    yield from ((" ", _shown(line)) for line in before)
    for sign, lines in (("-", hunk.old), ("+", hunk.new)):
        for line in lines:
            yield sign, _shown(line, shows_end=shows_ends)
            if not _end(line):
                yield "\\", " No newline at end of file"
    yield from ((" ", _shown(line)) for line in after)


def _end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _shown(line: str, *, shows_end: bool = False) -> str:
    end = _end(line)
    body = visible(line[: len(line) - len(end)])
    return f"{body}{visible(end.replace(chr(10), ''))}" if shows_end else body
