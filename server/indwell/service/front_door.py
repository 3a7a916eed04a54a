"""What the service needs of a front door: a program that a person works in, such as an editor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from indwell.agent.core.events import Event
from indwell.policy.approvals import Approver
from indwell.providers.base import ModelLine
from indwell.settings.model import Settings


class FrontDoor(Protocol):
    """Tells the user what happens, and asks the user.

    Attributes:
        has_section: The front door has settings of its own for Indwell.
        leads_to_model: It leads a user without a model to one in a way of its own.
        can_type: The user can be asked for a line of text.
        trust_hint: How the user trusts a folder here, a sentence; may be empty.
        asks_about_files: It asks itself whether a rewind takes files back.
        models: The line to its own language models; None if it offers none.
    """

    @property
    def has_section(self) -> bool:
        """See the class."""
        ...

    @property
    def leads_to_model(self) -> bool:
        """See the class."""
        ...

    @property
    def can_type(self) -> bool:
        """See the class."""
        ...

    @property
    def trust_hint(self) -> str:
        """See the class."""
        ...

    @property
    def asks_about_files(self) -> bool:
        """See the class."""
        ...

    @property
    def models(self) -> ModelLine | None:
        """See the class."""
        ...

    def tell(self, words: str) -> None:
        """Show a sentence."""
        ...

    def warn(self, words: str) -> None:
        """Show a sentence about something that went wrong, or does not work."""
        ...

    def event(self, session: str, seq: int, event: Event) -> None:
        """Take what happened in a session; ``seq`` counts the events of the session."""
        ...

    async def begin_turn(self, session: str, token: str, title: str) -> None:
        """Begin to show a turn, which the user stops by ``token``; the turn does not wait."""
        ...

    async def choose(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        """Let the user choose; None if nothing was chosen, or nobody answers in time."""
        ...

    async def allow(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        """``choose`` for what can do harm; the first title is the harmless one."""
        ...

    async def type_line(self, prompt: str, placeholder: str, timeout_s: float) -> str | None:
        """Let the user type a line; None if there is no answer in time."""
        ...

    async def show_page(self, page: Path) -> bool:
        """Open a page that the user reads; False if it cannot be opened."""
        ...

    async def lead_to_model(self, reason: str, timeout_s: float) -> bool:
        """Let the front door lead the user to a model; False if the user wants none."""
        ...

    def model_hint(self, others: Sequence[str]) -> str:
        """Say how a user goes on with another model; ``others`` are those that can be asked."""
        ...

    def changing(self, paths: Iterable[Path]) -> AbstractAsyncContextManager[None]:
        """Surround a change of files by the user's word: what was saved before is saved again."""
        ...

    async def section(self) -> object:
        """The front door's own settings for Indwell, any JSON; None if nobody answers in time."""
        ...

    def approver(self, settings: Settings, whose: Callable[[], str]) -> Approver:
        """Who asks the user for permissions of one session.

        Args:
            settings: In force when the session is opened.
            whose: Gives the title of the session where the user may not see which one asks.
        """
        ...
