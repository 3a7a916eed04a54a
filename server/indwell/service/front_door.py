"""The service's interface to a front door: a program in which a person works, such as an editor."""

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
        id: Its id; empty if no session asks.
        title: Its title; empty if the user looks at it, because it is the current session.
    """

    id: str = ""
    title: str = ""


class FrontDoor(Protocol):
    """Shows the user what happens, and asks the user.

    Attributes:
        has_section: The front door has settings of its own for Indwell.
        leads_to_model: It has its own way to lead a user to a model.
        can_type: It can ask the user for a line of text.
        trust_hint: How the user trusts a folder here, a sentence; may be empty.
        asks_about_files: The front door itself asks the user whether a rewind restores files.
        models: The connection to its own language models; None if it offers none.
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
    def models(self) -> ModelConnection | None:
        """See the class."""
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
        """Begin to show a turn, which the user stops by ``token``; the turn does not wait."""
        ...

    async def choose(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        """Let the user choose; None without a choice or without an answer in time."""
        ...

    async def allow(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        """Like ``choose``, for a choice that can do harm; the first title is the harmless one."""
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
        """Say how a user continues with another model; ``others`` are the available ones."""
        ...

    def changing(self, paths: Iterable[Path]) -> AbstractAsyncContextManager[None]:
        """Surround a change of files with saving: files that were saved before are saved again."""
        ...

    async def section(self) -> object:
        """Return the front door's own settings for Indwell, any JSON.

        None without an answer in time.
        """
        ...

    def approver(self, settings: Settings, whose: Callable[[], AskingSession]) -> Approver:
        """Return the object that asks the user for permissions of one session.

        Args:
            settings: In force when the session is opened.
            whose: Returns the title of the session, if the user may not see which one asks.
        """
        ...
