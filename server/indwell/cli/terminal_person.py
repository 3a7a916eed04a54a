"""The user at the terminal: gives permissions, and answers questions of the model's."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape

from indwell.agent.features.questions.asker import NOBODY, Answer, UserQuestion, answer_of
from indwell.cli.stdin import is_typed
from indwell.cli.terminal_approver import TerminalApprover
from indwell.cli.typed_line import typed_line
from indwell.policy.approvals import visible


class TerminalPerson(TerminalApprover):
    """Implements ``Approver`` and ``Asker``; where there is no terminal there is nobody.

    Args:
        console: Where to ask.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._screen = console

    async def ready(self, question: UserQuestion) -> None:
        """Nothing has to be waited for: in a terminal nobody types into a document."""
        del question

    async def answer(self, question: UserQuestion) -> Answer:
        """Show the question, and wait for a number or words; an empty line is no answer."""
        if not is_typed():
            return NOBODY
        self._tell("[bold]The model asks[/] (an answer permits nothing):")
        for line in question.text.split("\n"):
            self._tell(f"│ {escape(visible(line))}")
        for number, option in enumerate(question.options, 1):
            self._tell(f"  [bold]{number}[/] {escape(visible(option))}")
        how = "A number, or other words" if question.options else "Your answer"
        typed = await typed_line(f"{how} (nothing: the model decides): ")
        return answer_of(question.options, typed.strip()) if typed is not None else NOBODY

    def _tell(self, markup: str) -> None:
        self._screen.print(markup, emoji=False, highlight=False, soft_wrap=True)
