"""Combines the settings in force: the user's, a client's stricter ones, and later choices.

A client is an editor or the terminal (``service.front_door``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from weakref import WeakSet

import msgspec

from indwell.bounds.folder_trust import FolderTrust
from indwell.errors import SettingsError, UserError
from indwell.messages import Effort
from indwell.providers.offered_models import OfferedModel
from indwell.service.endpoint.model_list import offered_models
from indwell.service.front_door import FrontDoor
from indwell.service.user_settings import read_settings
from indwell.settings.endpoints import ADDRESS_BOUND, SHARED
from indwell.settings.model import Mode, Settings
from indwell.settings.paths import user_file
from indwell.settings.tighten import tighten

SECTION_TIMEOUT_S = 5.0  # The first turn waits 5 s for the client's settings.
SOURCE = "the editor's settings"


class Configured(msgspec.Struct, frozen=True):
    """The settings as read from their sources.

    Attributes:
        settings: The settings; if there is a ``problem``, the last valid settings or the defaults.
        notices: A sentence for each part of the sources that was ignored.
        problem: The reason why the settings cannot be used, or empty if they are valid.
    """

    settings: Settings
    notices: tuple[str, ...] = ()
    problem: str = ""


ReadSettings: TypeAlias = Callable[[Mapping[str, Any], tuple[Path, ...]], Configured]
"""Reads all sources except the client's section, given the client's start options and the folders.
"""


def settings_reader(
    environment: Mapping[str, str], trust: FolderTrust, *, is_scripted: Callable[[], bool]
) -> ReadSettings:
    """Return a function that reads the user's settings and never raises an error.

    Args:
        environment: Variables of the process.
        trust: Examines the folders while settings are read.
        is_scripted: Whether to use the scripted model in place of the user's model.
    """

    def read(options: Mapping[str, Any], roots: tuple[Path, ...]) -> Configured:
        try:
            loaded = read_settings(environment, roots=roots, options=options, trust=trust)
        except SettingsError as error:
            return Configured(settings=Settings(), problem=str(error))
        settings = loaded.settings
        if is_scripted():
            settings = msgspec.structs.replace(settings, provider="scripted")
        return Configured(settings=settings, notices=loaded.notices)

    return read


class Follower(Protocol):
    """A part of Indwell that depends on the settings in force."""

    def update(self) -> None:
        """Use the new settings; called at each change of the settings."""
        ...


class Configuration:
    """Reads settings from their sources, and again when a source changes.

    Args:
        door: The client, which may have its own settings.
        read: Reads all other sources.
        offered: Lists the models of the endpoints in the settings.
        patience_s: How long a turn waits for the client's settings, in seconds.

    Attributes:
        settings: The settings in force.
        users: The user's own settings, without the client's restrictions and without later choices.
        followers: Called after each change; weakly referenced.
    """

    def __init__(
        self,
        door: FrontDoor,
        read: ReadSettings,
        *,
        offered: Callable[[Settings], Awaitable[tuple[OfferedModel, ...]]] = offered_models,
        patience_s: float = SECTION_TIMEOUT_S,
    ) -> None:
        self._door = door
        self._read_sources = read
        self.offered = offered
        self._roots: tuple[Path, ...] = ()
        self._options: Mapping[str, Any] = {}
        self._section: Mapping[str, Any] = {}
        self._users = self._read = Configured(Settings())
        self._mode: Mode | None = None
        self._before_plan: Mode = "review"
        self._model: str | None = None
        self._effort: Effort | None = None
        self._mcp: dict[str, dict[str, Any]] = {}
        self.settings = self.users = self._read.settings
        self.followers: WeakSet[Follower] = WeakSet()
        self._has_looked = False
        self._reading = asyncio.Lock()
        self._asked = asyncio.Event()
        self._asked.set()
        self._patience_s = patience_s

    @property
    def configured_mode(self) -> Mode:
        """The mode in the settings, without later choices."""
        return self._read.settings.mode

    @property
    def problem(self) -> str:
        """The reason why the settings are invalid, or empty if they are valid."""
        return self._read.problem

    @property
    def notices(self) -> tuple[str, ...]:
        """The ignored parts of the settings, one sentence per part."""
        return self._read.notices

    def start(self, roots: tuple[Path, ...], options: Mapping[str, Any]) -> None:
        """Read the user's own settings, which is fast.

        ``ask`` examines the folders later, because the examination may take a second.
        """
        self._roots, self._options = roots, options
        self._users = self._read_sources(options, ())
        self._read = self._tightened(self._users)
        self._update()
        self._has_looked = not roots
        if self._door.has_section or roots:
            self._asked.clear()

    async def ask(self) -> tuple[str, ...]:
        """Read the client's settings, and examine the trust in the folders."""
        try:
            answer = await self._door.section() if self._door.has_section else None
            if isinstance(answer, Mapping):
                return await self.take(answer)
            return () if self._has_looked else await self.read_again()
        finally:
            self._asked.set()

    async def take(self, section: object) -> tuple[str, ...]:
        """Apply a section of settings that the client sent; return the new notices."""
        if not isinstance(section, Mapping):
            return ()
        self._section = section
        return await self.read_again()

    async def read_again(self) -> tuple[str, ...]:
        """Read all sources again; a later choice is kept until its source changes."""
        async with self._reading:  # A second caller finds no new settings.
            before = self._read
            read = self._read_sources
            users = await asyncio.to_thread(read, self._options, self._roots)
            # A running turn must not lose its rules through a broken settings file.
            if users.problem:
                users = msgspec.structs.replace(users, settings=self._users.settings)
            self._users = users
            self._read, self._has_looked = self._tightened(self._users), True
            if self._read.settings.mode != before.settings.mode:
                self._mode, self._before_plan = None, "review"
            if self._read.settings.model != before.settings.model:
                self._model = None
            if self._read.settings.effort != before.settings.effort:
                self._effort = None
            self._update()
            return tuple(one for one in self._read.notices if one not in before.notices)

    async def known(self) -> None:
        """Wait for the client's settings, for at most ``patience_s``."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience_s):
                await self._asked.wait()
        if not self._has_looked:
            await self.read_again()

    def override(
        self,
        *,
        mode: Mode | None = None,
        model: str | None = None,
        effort: Effort | None = None,
        mcp: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Use the values from the client's start options instead of the settings.

        MCP servers are added to those of the settings; for equal names, the settings take
        precedence.
        """
        if mode is not None:
            self.choose_mode(mode)
        self._model = model or self._model
        self._effort = effort if effort is not None else self._effort
        self._mcp = {**self._mcp, **{name: dict(one) for name, one in (mcp or {}).items()}}
        self._update()

    def choose_mode(self, mode: Mode, *, before_plan: Mode | None = None) -> None:
        """Use this mode from now on; ``before_plan`` is the mode to use after ``plan``."""
        before = before_plan or self.settings.mode
        if mode == "plan" and before != "plan":
            self._before_plan = before
        self._mode = mode
        self._update()

    @property
    def mode_before_plan(self) -> Mode:
        """The mode in force before ``plan``."""
        return self._before_plan

    def leave_plan(self) -> None:
        """Return from ``plan`` mode to the earlier mode, because a plan was approved."""
        if self.settings.mode == "plan":
            self._mode = self._before_plan
            self._update()

    def choose_model(self, name: str) -> None:
        """Use this model from now on.

        Raises:
        UserError: The user's settings do not allow the model.
        """
        self._model = self.allowed_model(name)
        self._update()

    def choose_effort(self, effort: Effort) -> None:
        """Use this reasoning effort from the next turn on; if it is empty, the model decides."""
        self._effort = effort
        self._update()

    def allowed_model(self, name: str) -> str:
        """Check that the user's own settings name a model, and return the model.

        Raises:
        UserError: The user's settings do not allow the model.
        """
        own = (self.users.model, *self.users.models)
        if name not in own:
            allowed = ", ".join(repr(one) for one in dict.fromkeys(own) if one) or "none"
            raise UserError(
                f"{name!r} is not among the models of your settings ({allowed}); add it to "
                f"`models` in {user_file()}, or run `indwell login --model {name}`"
            )
        return name

    async def want_model(self, name: str) -> None:
        """Use a model that the user picked, from the settings or the endpoint's current list.

        Raises:
            UserError: The model is in neither list.
        """
        try:
            self.choose_model(name)
        except UserError:
            try:
                offered = tuple(one.name for one in await self.offered(self.users))
            except UserError:
                offered = ()  # Without a list, only the settings are checked.
            if not offered:
                raise
            if name not in offered:
                raise UserError(
                    f"the endpoint offers no model {name!r} now; choose one of those that it lists"
                ) from None
            self._model = name
            self._update()

    def _update(self) -> None:
        """Combine the settings in force again, and notify each follower."""
        settings, users = self._read.settings, self._users.settings
        self.users = msgspec.structs.replace(users, mcp={**self._mcp, **users.mcp})
        self.settings = msgspec.structs.replace(
            settings,
            mcp={**self._mcp, **settings.mcp},
            mode=self._mode or settings.mode,
            model=self._model or settings.model,
            effort=settings.effort if self._effort is None else self._effort,
        )
        for one in tuple(self.followers):
            one.update()

    def _tightened(self, read: Configured) -> Configured:
        if not self._section:
            return read
        tighter = tighten(read.settings, self._section, SOURCE, chooses=True)
        notices = (*read.notices, *tighter.notices)
        return Configured(tighter.settings, notices, read.problem)


def model_identity(settings: Settings) -> tuple[object, ...]:
    """The settings that identify a model; if one changes, the next turn uses another model."""
    return tuple(getattr(settings, name) for name in _MODEL_FIELDS)


_MODEL_FIELDS = ("provider", "model", "small_model", "endpoints", *ADDRESS_BOUND, *SHARED)
