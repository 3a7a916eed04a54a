"""Connects the service to an interactive session: asks one question at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from indwell.agent.core.events import Event, Notice
from indwell.agent.features.questions import Answer, UserQuestion
from indwell.cli.interactive.desk import Desk
from indwell.cli.terminal.front_door import TerminalDoor, TerminalPerson
from indwell.cli.terminal.telling import told
from indwell.context.untrusted_text import visible
from indwell.policy.approvals import Question, Reply


class InteractivePerson(TerminalPerson):
    """Asks questions as ``indwell run`` does, but only after the user has paused typing.

    Args:
        desk: The place at which the user types.
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk.console, desk.typed)
        self._desk = desk
        self._turn = asyncio.Lock()

    async def ask(self, question: Question) -> Reply:
        """Show exactly the requested command or edit, and read the user's answer."""
        async with self._turn, self._desk.asking():
            return await super().ask(question)

    async def answer(self, question: UserQuestion) -> Answer:
        """Show a question of the model, and read a number or words."""
        async with self._turn, self._desk.asking():
            return await super().answer(question)

    async def chosen(self, question: str, titles: Sequence[str]) -> str | None:
        """Let the user choose a title by its number; return None if there is no choice."""
        async with self._turn, self._desk.asking():
            say = self._desk.console.print
            say(visible(told(question)), markup=False, emoji=False, highlight=False)
            for number, title in enumerate(titles, 1):
                line = f"  {number}  {visible(told(title))}"
                say(line, markup=False, emoji=False, highlight=False)
            while (
                typed := await self._desk.typed(f"{told('A number (Enter: none)')}: ")
            ) is not None:
                word = typed.strip()
                if not word:
                    return None
                if word.isdecimal() and 1 <= int(word) <= len(titles):
                    return titles[int(word) - 1]
                say(told("Type one of the numbers, or press Enter."), style="yellow")
            return None


class InteractiveDoor(TerminalDoor):
    """Implements ``FrontDoor`` for an interactive session.

    Args:
        view: Shows events.
        person: Asks the user.
        desk: The place at which the user types.
    """

    can_type = True
    trust_hint = "`/trust` asks again."

    def __init__(
        self, view: Callable[[Event], None], person: InteractivePerson, desk: Desk
    ) -> None:
        super().__init__(view, person, desk.console)
        self._person = person
        self._desk = desk

    def tell(self, words: str) -> None:
        """Show a notice, which needs no turn."""
        self.view(Notice(0, "info", words))

    async def choose(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        """Let the user choose a title, without a time limit."""
        del timeout_s
        return await self._person.chosen(question, titles)

    async def allow(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        """Let the user choose a title, of which the first is harmless."""
        del timeout_s
        return await self._person.chosen(question, titles)

    async def type_line(self, prompt: str, placeholder: str, timeout_s: float) -> str | None:
        """Let the user type a line."""
        del placeholder, timeout_s
        async with self._desk.asking():
            return await self._desk.typed(f"{visible(told(prompt))}: ")

    def model_hint(self, others: Sequence[str]) -> str:
        """Name the command for another model."""
        return f"use another one: `/model {next(iter(others), 'NAME')}`"
