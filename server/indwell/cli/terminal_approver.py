"""Permission questions on a terminal: at the prompt, or as the user said beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from rich.console import Console
from rich.markup import escape

from indwell.cli.stdin import is_typed
from indwell.cli.typed_line import YES_OR_NO, chosen
from indwell.policy.approvals import Answer, Chosen, Question, Reply, Said, one_line, visible

_NO_OR_ONCE: Mapping[str, Answer] = {
    **dict.fromkeys(("", "n", "no"), "no"),
    **dict.fromkeys(("y", "yes", "o", "once"), "once"),
}
_FOR_LONGER: Mapping[str, Answer] = {
    **dict.fromkeys(("s", "session"), "session"),
    **dict.fromkeys(("a", "always"), "always"),
}
_BY_HUNK: Mapping[str, Literal["hunk"]] = {"h": "hunk", "hunk": "hunk"}
_DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


class TerminalApprover:
    """Asks at the prompt; where there is no terminal the answer is no. Implements ``Approver``."""

    def __init__(self, console: Console) -> None:
        self._console = console

    async def ask(self, question: Question) -> Reply:
        """Show exactly what would run, and wait for a letter."""
        title, reason = escape(one_line(question.title)), escape(one_line(question.reason))
        heading = f"[bold yellow]{title}[/] ({reason})"
        self._console.print(heading, emoji=False, highlight=False, soft_wrap=True)
        self._tell_detail(question)
        self._tell_notes(question)
        if not is_typed():
            self._console.print("[yellow]Nobody can be asked here, so the answer is no.[/]")
            return "unanswered"
        choices = "[N]o (Enter), " + ("[Y]es: remember it" if question.keeps else "[O]nce")
        choices += ", this [S]ession, [A]lways" if question.rule else ""
        choices += ", by [H]unk" if question.hunks else ""
        meanings: Mapping[str, Answer | Literal["hunk"]] = {
            **_NO_OR_ONCE,
            **(_FOR_LONGER if question.rule else {}),
            **(_BY_HUNK if question.hunks else {}),
        }
        answer = await chosen(f"{choices}? ", meanings, self._tell_letters)
        if answer == "hunk":
            return await self._ask_by_hunk(question)
        return answer or "unanswered"

    def _tell_letters(self) -> None:
        self._console.print(
            "[yellow]Type one of the letters in brackets; y means yes once, Enter means no.[/]"
        )

    async def _ask_by_hunk(self, question: Question) -> Reply:
        """Ask for each; an empty line is a no, the end of input is a no to this and the rest."""
        allowed: list[str] = []
        for number, hunk in enumerate(question.hunks, 1):
            self._tell_lines(f"{hunk.header}\n{hunk.text}", is_diff=True)
            prompt = f"Hunk {number} of {len(question.hunks)}: [N]o, [Y]es? "
            is_allowed = await chosen(prompt, YES_OR_NO, self._tell_letters)
            if is_allowed is None:
                break
            if is_allowed:
                allowed.append(hunk.id)
        return Chosen(tuple(allowed)) if allowed else "no"

    def _tell_detail(self, question: Question) -> None:
        """All of it, whole; a diff by what its lines are."""
        is_diff = not question.cwd and "\n@@ " in question.detail
        self._tell_lines(question.detail, is_diff=is_diff)

    def _tell_lines(self, text: str, *, is_diff: bool) -> None:
        for line in visible(text).split("\n"):
            colour = _DIFF_COLOURS.get(line[:1], "") if is_diff else ""
            self._console.print(
                line, style=colour, markup=False, emoji=False, highlight=False, soft_wrap=True
            )

    def _tell_notes(self, question: Question) -> None:
        """What a person should know besides; what goes beyond the sandbox stands out."""
        rule = f"This session and always are for: {question.rule}"
        for note in (*question.notes, *([rule] if question.rule else ())):
            is_more = question.more and question.more in note
            style = "bold red" if is_more else "dim"
            line = f"[{style}]{escape(one_line(note))}[/]"
            self._console.print(line, emoji=False, highlight=False, soft_wrap=True)


class AllowingApprover:
    """Says yes to commands that would be asked for, as the user said beforehand.

    To nothing else: ``policy.approvals`` says what that covers. What the model itself asks for
    beyond the sandbox nobody has seen (POL-16).
    """

    async def ask(self, question: Question) -> Said:
        """Allow this one call if what was said covers it."""
        return "uncovered" if question.wanted or question.uncovered else "beforehand"
