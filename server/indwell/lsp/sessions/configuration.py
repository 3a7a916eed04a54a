"""The settings in force: the user's, tightened by the editor, and what the user chose since."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from indwell.errors import UserError
from indwell.lsp.backend import Backend, Configured
from indwell.lsp.editor.client import CONFIGURATION_TIMEOUT_S, Client
from indwell.settings.model import Mode, Settings
from indwell.settings.tighten import tighten

SECTION = "indwell"
SOURCE = "the editor's settings"


class Configuration:
    """Reads settings from their sources, and again when one of them changes.

    Args:
        client: Has a configuration of its own, perhaps.
        backend: Reads the user's.
        patience_s: How long a turn waits for an editor that is never ready to be asked.
    """

    def __init__(
        self, client: Client, backend: Backend, *, patience_s: float = CONFIGURATION_TIMEOUT_S
    ) -> None:
        self._client = client
        self._backend = backend
        self._roots: tuple[Path, ...] = ()
        self._options: Mapping[str, Any] = {}
        self._section: Mapping[str, Any] = {}
        self._read = Configured(Settings())
        self._mode: Mode | None = None
        self._before_plan: Mode = "review"
        self._model: str | None = None
        self._has_looked = False
        self._reading = asyncio.Lock()
        self._asked = asyncio.Event()
        self._asked.set()
        self._patience_s = patience_s

    @property
    def settings(self) -> Settings:
        """Those in force."""
        settings = self._read.settings
        return msgspec.structs.replace(
            settings, mode=self._mode or settings.mode, model=self._model or settings.model
        )

    @property
    def configured_mode(self) -> Mode:
        """The mode in the user's settings, whatever was chosen since."""
        return self._read.settings.mode

    @property
    def problem(self) -> str:
        """Why they cannot be used; empty if they can."""
        return self._read.problem

    @property
    def notices(self) -> tuple[str, ...]:
        """What was ignored in them, a sentence each."""
        return self._read.notices

    def start(self, roots: tuple[Path, ...], options: Mapping[str, Any]) -> None:
        """The editor has said where it works and what it wants.

        What the folders say is not read yet: looking at them may take a second, and `ask` does.
        """
        self._roots, self._options = roots, options
        self._read = self._tightened(self._backend.configure(options, ()))
        self._has_looked = not roots
        if self._client.features.configuration or roots:
            self._asked.clear()

    async def ask(self) -> tuple[str, ...]:
        """Ask the editor for its section; gives what is ignored of it and was not before.

        An editor that does not answer in time, answers an error or nonsense has no section: what
        was told before stays (LSP-24). The folders are looked at in any case.
        """
        try:
            has_own = self._client.features.configuration
            answer = await self._client.configuration(SECTION) if has_own else None
            if isinstance(answer, Mapping):
                return await self.take(answer)
            return () if self._has_looked else await self.read_again()
        finally:
            self._asked.set()

    async def take(self, section: object) -> tuple[str, ...]:
        """Take the editor's section; gives the notices that are new."""
        if not isinstance(section, Mapping):
            return ()
        self._section = section
        return await self.read_again()

    async def read_again(self) -> tuple[str, ...]:
        """Read all sources anew; a mode or model that was chosen holds until its source changes."""
        async with self._reading:  # whoever comes second finds nothing new
            before = self._read
            fresh = await asyncio.to_thread(self._backend.configure, self._options, self._roots)
            self._read, self._has_looked = self._tightened(fresh), True
            if self._read.settings.mode != before.settings.mode:
                self._mode, self._before_plan = None, "review"
            if self._read.settings.model != before.settings.model:
                self._model = None
            return tuple(one for one in self._read.notices if one not in before.notices)

    async def known(self) -> None:
        """Return when the editor's section is known, or will not be: bounded in any case."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience_s):
                await self._asked.wait()
        if not self._has_looked:
            await self.read_again()

    def choose_mode(self, mode: Mode) -> None:
        """The user wants this mode."""
        before = self.settings.mode
        if mode == "plan" and before != "plan":
            self._before_plan = before
        self._mode = mode

    def leave_plan(self) -> None:
        """The user has approved a plan: the mode that was before it, if it is ``plan`` now."""
        if self.settings.mode == "plan":
            self._mode = self._before_plan

    def choose_model(self, name: str) -> None:
        """The user wants this model.

        Raises:
            UserError: The user's settings do not allow it.
        """
        self._model = self.allowed_model(name)

    def allowed_model(self, name: str) -> str:
        """The model of this name.

        Raises:
            UserError: The user's settings do not allow it.
        """
        return self._backend.choose_model(self.settings, name).model

    async def want_model(self, name: str) -> None:
        """The user picks this model by hand: one of their settings, or one that is offered now.

        Raises:
            UserError: It is neither.
        """
        try:
            self.choose_model(name)
        except UserError:
            try:
                offered = tuple(one.name for one in await self._backend.models())
            except UserError:
                offered = ()  # nobody can say: only the settings count
            if not offered:
                raise
            if name not in offered:
                raise UserError(
                    f"the endpoint offers no model {name!r} now; choose one of those that it lists"
                ) from None
            self._model = name

    def _tightened(self, read: Configured) -> Configured:
        if not self._section or read.problem:
            return read
        tighter = tighten(read.settings, self._section, SOURCE, chooses=True)
        return Configured(tighter.settings, (*read.notices, *tighter.notices))


def model_identity(settings: Settings) -> tuple[object, ...]:
    """What makes another model of the same settings: if it differs, the next turn switches."""
    return tuple(getattr(settings, name) for name in _MODEL_FIELDS)


_MODEL_FIELDS = (
    "provider",
    "base_url",
    "api_key",
    "model",
    "window",
    "max_output",
    "price_in",
    "price_out",
    "cache_marks",
    "pictures",
    "stall_timeout_s",
)
