"""Which model goes on with a session: its own, as long as it can be asked, or another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from indwell.errors import UserError
from indwell.service.configuration import Configuration
from indwell.service.endpoint.first_run import ANSWER_S
from indwell.service.endpoint.offered import offered_models
from indwell.service.front_door import FrontDoor
from indwell.service.sessions.stored_sessions import StoredSessions
from indwell.settings.model import Settings

LISTING_S = 5.0  # for the endpoint to say what it offers; who does not say is believed
OFFERED = 5  # models to choose from; more buttons no message has room for


class HeldWith(NamedTuple):
    """The model of a resumed session; ``problem`` says why it is not available, if it is not.

    ``instead`` are the models in the user's settings.
    """

    model: str
    problem: str = ""
    instead: tuple[str, ...] = ()


async def held_with(settings: Settings, model: str) -> HeldWith:
    """The model of a session, and whether it can still be asked.

    Args:
        settings: The user's own.
        model: As the log names it.
    """
    own = tuple(dict.fromkeys(filter(None, (settings.model, *settings.models))))
    if settings.provider == "scripted" or model in {"", settings.model}:
        return HeldWith(settings.model, instead=own)
    was = f"this session was held with the model {model!r}, which"
    if model not in own:
        named = ", ".join(map(repr, own)) or "none"
        return HeldWith(model, f"{was} your settings do not name any more (they name {named})", own)
    try:
        async with asyncio.timeout(LISTING_S):
            offered = {one.name for one in await offered_models(settings)}
    except (UserError, TimeoutError):
        offered = set()
    if not offered or {model, f"{model}:latest"} & offered:
        return HeldWith(model, instead=own)
    others = tuple(one for one in own if one != model)
    return HeldWith(model, f"{was} the endpoint no longer offers", others)


class ModelChoice:
    """Chooses the model of a session that is opened again.

    Args:
        door: Asks the user where the session's own model cannot be asked any more.
        configuration: Says which model is chosen now.
        stored: Says which model a session had.
        root: The first folder of the workspace.
    """

    def __init__(
        self,
        door: FrontDoor,
        configuration: Configuration,
        stored: StoredSessions,
        root: Callable[[], Path],
    ) -> None:
        self._door = door
        self._configuration = configuration
        self._stored = stored
        self._root = root

    async def of(self, session: str, model: str | None = None) -> str:
        """The model that a session is to go on with; empty if it is the one in force.

        Args:
            session: Its id.
            model: What the user chose for it, if they did.

        Raises:
            UserError: Its own one is not available, and the user chose no other.
        """
        settings = self._configuration.settings
        if settings.provider == "scripted":
            return ""
        held = await self.held(session)
        chosen = model or held.model
        if chosen != settings.model and model is None and held.problem:
            chosen = await self._other(held)
        return chosen if chosen != settings.model else ""  # that may be of the endpoint's list

    async def held(self, session: str) -> HeldWith:
        """The model that a session was last answered by, and whether it can still be asked.

        Raises:
            SessionError: There is no such session, or it cannot be read.
        """
        was = await self._stored.model_of(self._root(), session)
        return await held_with(self._configuration.users, was)

    async def _other(self, held: HeldWith) -> str:
        """Another model, as the user chooses.

        Raises:
            UserError: The user chose none.
        """
        titles = held.instead[:OFFERED]
        question = f"Indwell: {held.problem}. Which model shall go on?"
        chosen = await self._door.choose(question, titles, ANSWER_S) if titles else None
        if chosen is None:
            raise UserError(f"{held.problem}; {self._door.model_hint(held.instead)}")
        return chosen
