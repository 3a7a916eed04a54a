"""The settings of one open session: those of the user, with a mode and a model of its own.

Several sessions may run turns at once. What the user chooses in one of them must not reach another:
a turn in the mode ``plan`` would get the ``auto`` of a turn beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from indwell.settings.model import Mode, Settings


class OwnChoice(NamedTuple):
    """What a session keeps while another one is current.

    Attributes:
        mode: The mode that was chosen for it.
        model: The model that was chosen for it.
        configured: The mode in the user's settings at that time.
    """

    mode: Mode
    model: str
    configured: Mode


class SessionSettings:
    """Gives the settings in force for a session each time it is called.

    The current session follows what the user chooses. A session beside it keeps its mode and its
    model, until the user's settings themselves get another mode: that one holds for all.

    Args:
        chosen: The user's settings with what was chosen for the current session.
        configured: The mode in the user's settings, whatever was chosen since.

    Attributes:
        turn_mode: The mode of the running turn, if its prompt asked for one.
    """

    def __init__(self, chosen: Callable[[], Settings], configured: Callable[[], Mode]) -> None:
        self.turn_mode: Mode | None = None
        self._chosen = chosen
        self._configured = configured
        self._own: OwnChoice | None = None

    def __call__(self) -> Settings:
        """The settings in force now."""
        return in_mode(self.between_turns(), self.turn_mode)

    def between_turns(self) -> Settings:
        """The settings in force without the mode of the running turn."""
        settings, own = self._chosen(), self._own
        if own is None:
            return settings
        mode = own.mode if own.configured == self._configured() else settings.mode
        return msgspec.structs.replace(settings, mode=mode, model=own.model)

    def keep(self, *, mode: Mode | None = None, model: str = "") -> None:
        """Stop following the current session.

        Args:
            mode: Of this session from now on; the one in force if None.
            model: Of this session from now on; the one in force if empty.
        """
        now = self.between_turns()
        self._own = OwnChoice(mode or now.mode, model or now.model, self._configured())

    def follow(self) -> None:
        """The session is the current one: follow what the user chooses."""
        self._own = None


def in_mode(settings: Settings, mode: Mode | None) -> Settings:
    """``settings`` with the mode of one turn, if it asked for one."""
    return settings if mode is None else msgspec.structs.replace(settings, mode=mode)
