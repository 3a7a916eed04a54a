"""The service's interface to a front door: a program in which a user works, such as an editor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import NamedTuple, Protocol

from indwell.agent.core.events import Event
from indwell.policy.approvals import Approver
from indwell.providers.base import ModelConnection
from indwell.settings.model import Settings


class AskingSession(NamedTuple):
    """The session whose turn asks the user.

    Attributes:
        id: The session's id; empty if no session asks.
        title: The session's title; empty for the current session, at which the user looks.
    """

    id: str = ""
    title: str = ""


class FrontDoor(Protocol):
    """Shows the user what happens, and asks the user.

    Attributes:
        has_section: Whether the front door has settings of its own for Indwell.
        leads_to_model: Whether the front door has its own dialog that leads to a model.
        can_type: Whether the front door can ask the user for a line of text.
        trust_hint: How the user trusts a folder here, a sentence; may be empty.
        asks_about_files: Whether the front door itself asks if a rewind restores files.
        models: The connection to the front door's own language models, if any.
    """

    @property
    def has_section(self) -> bool:
        """Return ``has_section``; see the class."""
        ...

    @property
    def leads_to_model(self) -> bool:
        """Return ``leads_to_model``; see the class."""
        ...

    @property
    def can_type(self) -> bool:
        """Return ``can_type``; see the class."""
        ...

    @property
    def trust_hint(self) -> str:
        """Return ``trust_hint``; see the class."""
        ...

    @property
    def asks_about_files(self) -> bool:
        """Return ``asks_about_files``; see the class."""
        ...

    @property
    def models(self) -> ModelConnection | None:
        """Return ``models``; see the class."""
        ...

    def tell(self, words: str) -> None:
        """Show a sentence."""
        ...

    def warn(self, words: str) -> None:
        """Show a sentence about a failure or limitation."""
        ...

    def event(self, session: str, seq: int, event: Event) -> None:
        """Receive an event of a session; ``seq`` counts the events of the session."""
        ...

    async def begin_turn(self, session: str, token: str, title: str) -> None:
        """Begin to show a turn, which the user can stop by ``token``; the turn does not wait."""
        ...

    async def choose(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        """Let the user choose; None without a choice or without an answer in time."""
        ...

    async def allow(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        """The same as ``choose``, for a choice that can do harm; the first title is harmless."""
        ...

    async def type_line(self, prompt: str, placeholder: str, timeout_s: float) -> str | None:
        """Let the user type a line; None without an answer in time."""
        ...

    async def show_page(self, page: Path) -> bool:
        """Open a page that the user reads; False if it cannot be opened."""
        ...

    async def lead_to_model(self, reason: str, timeout_s: float) -> bool:
        """Let the front door lead the user to a model; False if the user declines."""
        ...

    def model_hint(self, others: Sequence[str]) -> str:
        """Return a sentence on how to continue with another model; ``others`` are available."""
        ...

    def changing(self, paths: Iterable[Path]) -> AbstractAsyncContextManager[None]:
        """Surround a change of files: files that were saved before the change are saved again."""
        ...

    async def section(self) -> object:
        """Return the front door's own settings for Indwell, any JSON.

        The result is None without an answer in time.
        """
        ...

    def approver(self, settings: Settings, whose: Callable[[], AskingSession]) -> Approver:
        """Return the object that asks the user for permissions of one session.

        Args:
            settings: The settings in force when the session is opened.
            whose: Returns the session's title, if the user may not know which session asks.
        """
        ...
