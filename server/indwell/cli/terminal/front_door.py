"""The terminal as a front end of the service: one command for one session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path

from rich.console import Console

from indwell.agent.core.events import Event, Listener, Notice
from indwell.cli.terminal.person import can_ask, is_trusted_at_terminal
from indwell.cli.terminal.stdin import typed_line
from indwell.policy.approvals import Approver, visible
from indwell.policy.trust import STAY, TRUST
from indwell.service.sessions.session_commands import KEEP, RESTORE
from indwell.settings.model import Settings

_RESTORES = frozenset({"r", "restore"})


class TerminalDoor:
    """Implements ``FrontDoor``; without a terminal, no question is answered.

    Args:
        view: Shows events: on the screen, or as JSON.
        approver: Asks for permissions.
        console: Where questions are asked.

    Attributes:
        view: As given, until it is replaced.
    """

    has_section = False
    leads_to_model = True  # the message about a missing model names the command that fixes it
    can_type = False
    trust_hint = ""
    asks_about_files = False
    models = None

    def __init__(self, view: Listener, approver: Approver, console: Console) -> None:
        self.view = view
        self._approver = approver
        self._console = console

    def tell(self, words: str) -> None:
        """Show a notice."""
        self.view(Notice(0, "info", words))

    def warn(self, words: str) -> None:
        """Show a warning for each line."""
        for line in words.split("\n"):
            self.view(Notice(0, "warning", line))

    def event(self, session: str, seq: int, event: Event) -> None:
        """Show an event."""
        del session, seq
        self.view(event)

    async def begin_turn(self, session: str, token: str, title: str) -> None:
        """Do nothing: the events are shown."""
        del session, token, title

    async def choose(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        """No answer: a command reports the problem and the option that decides it."""
        del question, titles, timeout_s
        return None

    async def allow(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        """Ask whether to trust a folder or to drop the user's own lines; nothing else."""
        del timeout_s  # a person here may take any time
        if not can_ask():
            return None
        if titles == (STAY, TRUST):
            is_trusted = await is_trusted_at_terminal(question, self._console)
            return None if is_trusted is None else TRUST if is_trusted else STAY
        if titles == (KEEP, RESTORE):
            self._console.print(visible(question), markup=False, highlight=False, soft_wrap=True)
            typed = await typed_line("[K]eep mine / [r]estore: ")
            return RESTORE if typed is not None and typed.strip() in _RESTORES else KEEP
        return None

    async def type_line(self, prompt: str, placeholder: str, timeout_s: float) -> str | None:
        """No answer: a command asks for no line."""
        del prompt, placeholder, timeout_s
        return None

    async def show_page(self, page: Path) -> bool:
        """A terminal opens no page."""
        del page
        return False

    async def lead_to_model(self, reason: str, timeout_s: float) -> bool:
        """No dialog: the message names the command instead."""
        del reason, timeout_s
        return False

    def model_hint(self, others: Sequence[str]) -> str:
        """Name the option for another model."""
        return f"use another one: `--model {next(iter(others), 'NAME')}`"

    def changing(self, paths: Iterable[Path]) -> AbstractAsyncContextManager[None]:
        """Do nothing: files on disk are saved."""
        del paths
        return nullcontext()

    async def section(self) -> object:
        """A terminal has no settings of its own."""
        return None

    def approver(self, settings: Settings, whose: Callable[[], str]) -> Approver:
        """The approver that the options select."""
        del settings, whose
        return self._approver
