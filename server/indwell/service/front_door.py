"""The interface between the service and a client: an editor, a terminal, or another program.

Indwell's own sentences in an event are translated here, for one client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from indwell.agent.core import events
from indwell.agent.core.events import Event
from indwell.policy.approvals import Approver
from indwell.providers.base import ModelConnection
from indwell.settings.model import Settings
from indwell.translation import Translation


class AskingSession(NamedTuple):
    """The session whose turn asks the user.

    Attributes:
        id: The session's id, or empty if no session asks.
        title: The session's title, or empty for the current session, which the user sees.
    """

    id: str = ""
    title: str = ""


class FrontDoor(Protocol):
    """Shows the user what happens, and asks the user.

    Attributes:
        has_section: Whether the client has its own settings for Indwell.
        leads_to_model: Whether the client has its own dialog to set up a model.
        can_type: Whether the client can ask the user for a line of text.
        trust_hint: A sentence on how the user trusts a folder in this client; may be empty.
        asks_about_files: Whether the client itself asks if a rewind restores files.
        models: The connection to the client's own language models, if any.
    """

    @property
    def has_section(self) -> bool:
        """Return ``has_section``, which the class describes."""
        ...

    @property
    def leads_to_model(self) -> bool:
        """Return ``leads_to_model``, which the class describes."""
        ...

    @property
    def can_type(self) -> bool:
        """Return ``can_type``, which the class describes."""
        ...

    @property
    def trust_hint(self) -> str:
        """Return ``trust_hint``, which the class describes."""
        ...

    @property
    def asks_about_files(self) -> bool:
        """Return ``asks_about_files``, which the class describes."""
        ...

    @property
    def models(self) -> ModelConnection | None:
        """Return ``models``, which the class describes."""
        ...

    def tell(self, words: str) -> None:
        """Show a sentence to the user."""
        ...

    def warn(self, words: str) -> None:
        """Show a sentence about a failure or limitation to the user."""
        ...

    def event(self, session: str, seq: int, event: Event) -> None:
        """Receive an event of a session; ``seq`` counts the events of the session."""
        ...

    async def begin_turn(self, session: str, token: str, title: str) -> None:
        """Start to show a turn, which the user can stop by ``token``; return without waiting."""
        ...

    async def choose(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        """Let the user choose a title; return None if no choice is made in time."""
        ...

    async def allow(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        """Let the user choose as in ``choose``; the first title is harmless, others may do harm."""
        ...

    async def type_line(self, prompt: str, placeholder: str, timeout_s: float) -> str | None:
        """Let the user type a line; return None if there is no answer in time."""
        ...

    async def show_page(self, page: Path) -> bool:
        """Open a page for the user; return False if the page cannot be opened."""
        ...

    async def lead_to_model(self, reason: str, timeout_s: float) -> bool:
        """Let the client help the user to set up a model; return False if the user declines."""
        ...

    def model_hint(self, others: Sequence[str]) -> str:
        """Return a sentence on how to continue with another model; ``others`` are available."""
        ...

    def changing(self, paths: Iterable[Path]) -> AbstractAsyncContextManager[None]:
        """Change files in this context; files that were saved before are saved again afterwards."""
        ...

    async def section(self) -> object:
        """Ask the client for its user's settings of Indwell, which may be any JSON value.

        Return None if the client does not answer in time.
        """
        ...

    def approver(self, settings: Settings, whose: Callable[[], AskingSession]) -> Approver:
        """Return the object that asks the user for permissions of one session.

        Args:
            settings: The settings in force when the session is opened.
            whose: Returns the session's title, if the user may not know which session asks.
        """
        ...


def translated_event(event: Event, translation: Translation) -> Event:
    """Return an event with the messages of Indwell in the user's language.

    Texts by the user, the model and programs stay as they are, and so do commands and diffs.
    """
    if not translation.language:
        return event
    replace, say = msgspec.structs.replace, translation.of
    match event:
        case events.Notice(message=message):
            return replace(event, message=say(message))
        case events.TurnFinished(message=message, verified=verified):
            return replace(event, message=say(message), verified=say(verified))
        case events.PermissionAsked(title=title, reason=reason):
            return replace(event, title=say(title), reason=say(reason))
        case events.ToolFinished(message=message):
            return replace(event, message=say(message))
        case events.Compacted(note=note):
            return replace(event, note=say(note))
        case events.QueueChanged(held=held):
            return replace(event, held=say(held))
        case _:
            return event
