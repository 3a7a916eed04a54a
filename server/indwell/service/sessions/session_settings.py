"""The settings of one open session: the user's settings with this session's mode and model.

Several sessions may run turns at once. A user's choice in one session must not affect another
session. Otherwise, a turn in ``plan`` mode could get the ``auto`` mode of another turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

import msgspec

from indwell.errors import UserError
from indwell.messages import Effort
from indwell.providers.offered_models import OfferedModel
from indwell.service.configuration import Configuration
from indwell.service.endpoint.first_run import ANSWER_S
from indwell.service.front_door import FrontDoor
from indwell.service.sessions.stored_sessions import StoredSessions
from indwell.settings.model import Mode, Settings


class OwnChoice(NamedTuple):
    """The values that a session keeps while another session is current.

    Attributes:
        mode: The session's mode.
        model: The session's model.
        effort: The session's effort.
        before_plan: The mode before ``plan`` mode.
    """

    mode: Mode
    model: str
    effort: Effort
    before_plan: Mode


class SessionSettings:
    """The settings in force for a session.

    The current session follows the user's choices. Other sessions keep their mode and model. A new
    mode in the user's own settings replaces all earlier modes, both those of sessions and those of
    running turns.

    Args:
        configuration: The user's settings, with the choices for the current session.

    Attributes:
        now: The settings in force.
        between_turns: The settings in force without the mode of the running turn.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._turn_mode: Mode | None = None
        self._own: OwnChoice | None = None
        self._configured = configuration.configured_mode
        self.now = self.between_turns = configuration.settings
        configuration.followers.add(self)

    @property
    def read(self) -> Callable[[], Settings]:
        """A function that returns the settings in force when it is called."""
        return partial(getattr, self, "now")

    def begin_turn(self, mode: Mode | None) -> None:
        """Use the mode that the prompt of a turn requested, if any, until ``end_turn``."""
        self._turn_mode = mode
        self.update()

    def end_turn(self) -> None:
        """Return to the mode between turns, because the turn ended or the user chose a mode."""
        self.begin_turn(None)

    def keep(
        self, *, mode: Mode | None = None, model: str = "", effort: Effort | None = None
    ) -> None:
        """Stop following the current session.

        Args:
            mode: The session's mode from now on, or None for the present mode.
            model: The session's model from now on, or empty for the present model.
            effort: The session's effort from now on, or None for the present effort.
        """
        now = self.between_turns
        own_effort = now.effort if effort is None else effort
        before = self.mode_before_plan
        self._own = OwnChoice(mode or now.mode, model or now.model, own_effort, before)
        self.update()

    @property
    def mode_before_plan(self) -> Mode:
        """The session's mode; if that is ``plan``, the mode before ``plan``."""
        if self.between_turns.mode != "plan":
            return self.between_turns.mode
        own = self._own
        return self._configuration.mode_before_plan if own is None else own.before_plan

    def leave_plan(self) -> None:
        """Return from ``plan`` mode to the session's earlier mode."""
        if self.between_turns.mode == "plan":
            self.keep(mode=self.mode_before_plan)

    def follow(self) -> None:
        """Make the session the current one, so that it follows the user's choices."""
        self._own = None
        self.update()

    def update(self) -> None:
        """Combine the settings of the session again; implements ``Follower``."""
        configured = self._configuration.configured_mode
        if configured != self._configured:
            self._configured, self._turn_mode = configured, None
            self._own = self._own and self._own._replace(mode=configured, before_plan="review")
        settings, own = self._configuration.settings, self._own
        if own is not None:
            settings = msgspec.structs.replace(
                settings, mode=own.mode, model=own.model, effort=own.effort
            )
        self.between_turns = settings
        self.now = in_mode(settings, self._turn_mode)


def in_mode(settings: Settings, mode: Mode | None) -> Settings:
    """Return ``settings`` with the mode of one turn, if the turn requested a mode."""
    return settings if mode is None else msgspec.structs.replace(settings, mode=mode)


LISTING_S = (
    # The endpoint has 5 s to list its models; without an answer, the model counts as available.
    5.0
)
OFFERED = 5  # A message has no room for more than 5 buttons.


class HeldWith(NamedTuple):
    """The model of a resumed session; ``problem`` says why it is unavailable, or is empty.

    ``instead`` are the models in the user's settings.
    """

    model: str
    problem: str = ""
    instead: tuple[str, ...] = ()


async def held_with(
    settings: Settings,
    model: str,
    offered_now: Callable[[Settings], Awaitable[tuple[OfferedModel, ...]]],
) -> HeldWith:
    """Return the model of a session, and whether it is still available.

    Args:
        settings: The user's own settings.
        model: The model's name in the log.
        offered_now: Lists the models of the endpoints in the settings.
    """
    own = tuple(dict.fromkeys(filter(None, (settings.model, *settings.models))))
    if settings.provider == "scripted" or model in {"", settings.model}:
        return HeldWith(settings.model, instead=own)
    was = f"this session used the model {model!r}, which"
    if model not in own:
        named = ", ".join(map(repr, own)) or "none"
        return HeldWith(model, f"{was} your settings no longer name (they name {named})", own)
    try:
        async with asyncio.timeout(LISTING_S):
            offered = {one.name for one in await offered_now(settings)}
    except (UserError, TimeoutError):
        offered = set()
    if not offered or {model, f"{model}:latest"} & offered:
        return HeldWith(model, instead=own)
    others = tuple(one for one in own if one != model)
    return HeldWith(model, f"{was} the endpoint no longer offers", others)


class ModelChoice:
    """Chooses the model of a session that is opened again.

    Args:
        door: Asks the user if the session's own model is no longer available.
        configuration: Says which model is chosen now.
        stored: Says which model a session had.
    """

    def __init__(
        self,
        door: FrontDoor,
        configuration: Configuration,
        stored: StoredSessions,
    ) -> None:
        self._door = door
        self._configuration = configuration
        self._stored = stored

    async def of(self, session: str, model: str | None = None) -> str:
        """Return the model with which a session continues, or an empty text for the chosen model.

        Args:
            session: The session's id.
            model: The user's choice for the session, if any.

        Raises:
            UserError: The session's model is not available, and the user chose no other model.
        """
        settings = self._configuration.settings
        if settings.provider == "scripted":
            return ""
        held = await self.held(session)
        chosen = model or held.model
        if chosen != settings.model and model is None and held.problem:
            chosen = await self._other(held)
        # The model may be only in the endpoint's list.
        return chosen if chosen != settings.model else ""

    async def held(self, session: str) -> HeldWith:
        """Return the model that last answered in a session, and whether it is still available.

        Raises:
            SessionError: The session does not exist, or cannot be read.
        """
        was = await self._stored.model_of(session)
        configuration = self._configuration
        return await held_with(configuration.users, was, configuration.offered)

    async def _other(self, held: HeldWith) -> str:
        """Let the user choose another model.

        Raises:
            UserError: The user chose no model.
        """
        titles = held.instead[:OFFERED]
        question = f"Indwell: {held.problem}. Which model should continue?"
        chosen = await self._door.choose(question, titles, ANSWER_S) if titles else None
        if chosen is None:
            raise UserError(f"{held.problem}; {self._door.model_hint(held.instead)}")
        return chosen
