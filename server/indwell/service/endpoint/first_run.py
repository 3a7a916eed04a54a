"""Helps a user without a usable model to choose a model, by questions in the client.

The user never types a key here, because no editor hides the text of its input box. Keys are given
to ``indwell login`` in a terminal. A client with its own set-up dialogue uses that dialogue
instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from indwell.providers.endpoint import LocalServer, LoginOutcome, failure
from indwell.providers.offered_models import OfferedModel
from indwell.service.front_door import FrontDoor

LOGIN_COMMAND = "indwell login"
ANSWER_S = 600.0  # In 10 minutes, a user can fetch a key from a web page and come back.
MOST_SERVERS = 3  # Editors show only a few buttons.
MOST_MODELS = 6
MOST_NAMED = 20  # The hint of an input box names at most 20 models.

IN_TERMINAL = "OpenAI or another provider"
TYPE_ADDRESS = "Type an address"
TYPE_MODEL = "Type its name"
OPEN_PAGE = "Open the page"
NOT_NOW = "Not now"
DONE = "Done, go on"
BACK = "Back"

DESKTOP = (
    "An editor that was started from the desktop does not see the variables that a shell exports."
)


class ModelSearch(Protocol):
    """Finds, tests and stores endpoints."""

    async def lacking(self) -> str:
        """Read settings and keys again; return why no model can be called, or empty."""
        ...

    async def local_servers(self) -> tuple[LocalServer, ...]:
        """Find model servers on this machine; takes about a second at most."""
        ...

    async def connect(self, base_url: str, key: str | None, model: str | None) -> LoginOutcome:
        """Test an endpoint and store it in the user's settings.

        If no model is given, the endpoint's only model is used. If the endpoint has several models,
        nothing is stored, and the outcome lists them as ``offered``.
        """
        ...

    async def first_run_page(self) -> Path:
        """Write a Markdown page for new users; return the page's path.

        Raises:
        UserError: The page cannot be written.
        """
        ...


class FirstRun:
    """Asks the questions of a first run; only one first run is open at a time.

    Args:
        door: Asks the user.
        search: Finds, tests and stores endpoints.
    """

    def __init__(self, door: FrontDoor, search: ModelSearch) -> None:
        self._door = door
        self._search = search
        self._open: asyncio.Task[bool] | None = None

    @property
    def is_open(self) -> bool:
        """Return whether a question is open."""
        return self._open is not None

    async def run(self) -> bool:
        """Help the user to choose and connect a model.

        A second caller waits for the same result. Only an answer or the time limit ``ANSWER_S``
        ends the questions; cancelling a caller does not.

        Returns:
            Whether a model can be called now. The caller must then read the settings again.
        """
        if self._open is None:
            self._open = asyncio.create_task(self._flow(), name="first run")
            self._open.add_done_callback(self._closed)
        return await asyncio.shield(self._open)

    async def stop(self) -> None:
        """Close the questions, because the server ends."""
        if self._open is not None:
            self._open.cancel()
            await asyncio.wait({self._open})

    def _closed(self, task: asyncio.Task[bool]) -> None:
        self._open = None
        if not task.cancelled():
            task.exception()  # The error is retrieved, because nothing may wait for the result.

    async def _flow(self) -> bool:
        return await (self._led_by_door() if self._door.leads_to_model else self._asked())

    async def _asked(self) -> bool:
        said = ""
        while True:
            reason = await self._search.lacking()
            if not reason:
                return True
            servers = await self._search.local_servers()
            ready = [one for one in servers if one.is_ready][:MOST_SERVERS]
            choice = await self._choose(said or _opening(reason, servers), self._titles(ready))
            said = ""
            if choice in {None, NOT_NOW}:
                return False
            if choice == OPEN_PAGE:
                await self._show_page()
            elif choice == IN_TERMINAL:
                said = await self._in_terminal()
            elif choice == TYPE_ADDRESS:
                said = await self._typed_address()
            for server in ready:
                if choice == _use(server):
                    said = await self._use_server(server)
            if said == DONE:
                return True

    async def _led_by_door(self) -> bool:
        reason = await self._search.lacking()
        is_led = bool(reason) and await self._door.lead_to_model(reason, ANSWER_S)
        return not reason or (is_led and not await self._search.lacking())

    def _titles(self, ready: Sequence[LocalServer]) -> tuple[str, ...]:
        typed = (TYPE_ADDRESS,) if self._door.can_type else ()
        return (*(_use(server) for server in ready), IN_TERMINAL, *typed, OPEN_PAGE, NOT_NOW)

    async def _use_server(self, server: LocalServer) -> str:
        """Choose a model and connect; return ``DONE``, or the first words of the next question."""
        model: str | None = server.models[0].name
        if len(server.models) > 1:
            model = await self._choose_model(server.models, server.title, server.name)
        return "" if model is None else await self._connect(server.base_url, model)

    async def _choose_model(
        self, models: Sequence[OfferedModel], whose: str, login_name: str
    ) -> str | None:
        """Let the user choose a model; models with tools come first. Return None to go back."""
        able = sorted(models, key=lambda model: model.tools is False)[:MOST_MODELS]
        by_title = {_title(model): model.name for model in able}
        rest = len(models) - len(able)
        can_type = bool(rest) and self._door.can_type
        more = f" ({rest} more: `{LOGIN_COMMAND} {login_name}`)" if rest and not can_type else ""
        typed = (TYPE_MODEL,) if can_type else ()
        answer = await self._choose(
            f"Which model of {whose}?{more} It must support tool calls.", (*by_title, *typed, BACK)
        )
        if answer == TYPE_MODEL:
            names = ", ".join(model.name for model in models[:MOST_NAMED])
            typed_name = await self._door.type_line("Name of the model", names, ANSWER_S)
            return (typed_name or "").strip() or None
        return by_title.get(answer or BACK)

    async def _connect(self, base_url: str, model: str | None) -> str:
        connected = await self._search.connect(base_url, None, model)
        if not connected.ok and model is None and len(connected.offered) > 1:
            base_url = connected.base_url
            model = await self._choose_model(connected.offered, base_url, base_url)
            return "" if model is None else await self._connect(base_url, model)
        if connected.ok:
            notes = "".join(f"\n{note}" for note in connected.notes)
            self._door.tell(f"{connected.message}{notes}")
            return DONE
        failed = failure(connected.steps)
        return f"{failed.words if failed is not None else connected.message}."

    async def _in_terminal(self) -> str:
        answer = await self._choose(
            f"Run this in a terminal, and come back:\n{LOGIN_COMMAND}\n"
            "It asks for the provider and the key, tests both and keeps the key in the system's "
            f"keyring. {DESKTOP}",
            (DONE, BACK),
        )
        if answer != DONE:
            return ""
        reason = await self._search.lacking()
        return f"Not yet: {reason}." if reason else DONE

    async def _typed_address(self) -> str:
        prompt = "Address of an OpenAI-compatible endpoint that needs no key"
        typed = await self._door.type_line(prompt, "http://127.0.0.1:8000/v1", ANSWER_S)
        address = (typed or "").strip()
        return await self._connect(address, None) if address else ""

    async def _show_page(self) -> None:
        page = await self._search.first_run_page()
        if not await self._door.show_page(page):
            self._door.tell(f"the page is {page}")

    async def _choose(self, message: str, titles: tuple[str, ...]) -> str | None:
        return await self._door.choose(f"Indwell: {message}", titles, ANSWER_S)


def _opening(reason: str, servers: Sequence[LocalServer]) -> str:
    warnings = [one.warning for one in servers if one.warning]
    found = ", ".join(server.title for server in servers)
    here = f"\nFound on this machine: {found}." if found else ""
    told = "".join(f"\n{warning}." for warning in warnings)
    return f"which model should answer? ({reason}){here}{told}\n{DESKTOP}"


def _use(server: LocalServer) -> str:
    only = f": {server.models[0].name}" if len(server.models) == 1 else ""
    return f"Use {server.title}{only}"


def _title(model: OfferedModel) -> str:
    window = f", {model.window // 1000} k" if model.window else ""
    without = ", no tools" if model.tools is False else ""
    return f"{model.name}{window}{without}"
