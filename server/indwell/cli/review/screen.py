"""Shows hunks for ``indwell review``: in colour at a terminal, as plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from indwell.policy.approvals import one_line, visible
from indwell.review.hunk import Hunk
from indwell.workspace.comparing.diff import CONTEXT
from indwell.workspace.paths import display
from indwell.workspace.text import split_lines

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
        roots: File names are relative to the first.
    """

    def __init__(self, console: Console, roots: Sequence[Path]) -> None:
        self._console = console
        self._roots = roots

    def name(self, path: Path) -> str:
        """A file name for people; nothing in it can control the terminal."""
        return one_line(display(path, self._roots))

    def heading(self, hunk: Hunk) -> str:
        """One line: the place, the turn and the size of a hunk."""
        facts = [f"+{len(hunk.new)} −{len(hunk.old)}", whose(hunk)]
        facts += [_KINDS[hunk.kind]] if hunk.kind in _KINDS else []
        facts += ["changed by you since"] if hunk.is_touched else []
        facts += [one_line(hunk.note)] if hunk.note else []
        return f"{self.name(hunk.path)}:{hunk.line}  {' · '.join(facts)}"

    def hunk(self, hunk: Hunk, text: str | None, *, number: int, total: int) -> None:
        """Show a whole hunk with context, because the verdict applies to what was shown."""
        self._print(Text(f"\n({number}/{total}) {self.heading(hunk)}", style="bold"))
        for sign, line in lines_of(hunk, text):
            self._print(Text(f"{sign}{line}", style=_COLOURS.get(sign, "dim")))

    def listed(self, hunks: Sequence[Hunk]) -> None:
        """Show a line for each hunk."""
        for one in hunks:
            self._print(Text(f"{one.id}  {self.heading(one)}"))

    def say(self, words: str, style: str = "") -> None:
        """Print sentences."""
        self._print(Text(visible(words), style=style))

    def warn(self, words: str) -> None:
        """Print a warning."""
        self.say(words, "yellow")

    def _print(self, text: Text) -> None:
        self._console.print(text, emoji=False, highlight=False, soft_wrap=True)


def whose(hunk: Hunk) -> str:
    """The turns that made the hunk; the session only if there are several."""
    sessions = dict.fromkeys(one.session for one in hunk.actors)
    turns = [str(one.turn) for one in hunk.actors]
    words = f"turn {turns[0]}" if len(turns) == 1 else f"turns {', '.join(turns)}"
    return f"{words} of {', '.join(sessions)}"


def lines_of(hunk: Hunk, text: str | None) -> Iterator[tuple[str, str]]:
    r"""The lines of a hunk with context, each with its sign; control characters are visible.

    If only some lines end in ``\r\n``, those ends are shown: they may be the only difference.

    Args:
        hunk: The hunk.
        text: The present text of its file.
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
