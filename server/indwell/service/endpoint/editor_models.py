"""The editor's own language models: their list, and the connection to them.

The editor makes the requests to the models. Like an endpoint's reply, the editor's data is
untrusted and limited. The models need no address and no key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from indwell.errors import SettingsError
from indwell.providers.base import EditorModel, ModelConnection
from indwell.providers.offered_models import OfferedModel
from indwell.settings.endpoints import split_name

MOST_MODELS = 500  # The list has at most 500 models, because nobody reads a longer list.
MOST_NAME = 200  # A name has at most 200 characters.
MOST_WINDOW = 10_000_000  # The largest context windows have 10 million tokens.

WHOSE = "VS Code"


class EditorModels:
    """The models of the editor, as last reported; they are requested again after a change.

    Args:
        connection: Returns the connection, or None if the editor offers no models.
    """

    def __init__(self, connection: Callable[[], ModelConnection | None] = lambda: None) -> None:
        self._connection = connection
        self._known: tuple[EditorModel, ...] | None = None
        self._asking: asyncio.Task[tuple[EditorModel, ...] | None] | None = None

    @property
    def connection(self) -> ModelConnection | None:
        """The connection to the editor, or None if the editor offers no models."""
        return self._connection()

    def forget(self) -> None:
        """Record that the editor's models have changed."""
        self._known = None
        self._asking = None

    async def look(self) -> tuple[EditorModel, ...]:
        """Return the models, or an empty tuple if the editor offers none, or does not answer."""
        connection = self.connection
        if self._known is not None or connection is None:
            return self._known or ()
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask(connection))
        return await asyncio.shield(self._asking) or ()

    async def offered(self) -> tuple[OfferedModel, ...]:
        """Return the models in the form of an endpoint's models, with unknown prices."""
        return tuple(
            OfferedModel(one.name, window=one.window, tools=one.tools, source="VS Code")
            for one in await self.look()
        )

    def find(self, name: str) -> EditorModel | None:
        """Return a model that the editor has reported, or None for an unknown model."""
        return next((one for one in self._known or () if one.name == name), None)

    def need_connection(self, name: str) -> ModelConnection:
        """Return the connection, for the model of this name.

        Raises:
            SettingsError: The editor offers no models.
        """
        connection = self.connection
        if connection is None:
            raise SettingsError(
                f"{name!r} is a model of VS Code's own, which only the Indwell extension of VS Code"
                " can ask; choose another model"
            )
        return connection

    def check(self, name: str) -> EditorModel:
        """Return a model that the editor offers, after ``look`` has asked for the models."""
        self.need_connection(name)
        bare, _ = split_name(name, {})
        if self._known is None:
            raise SettingsError(
                f"{WHOSE} did not say whether it has the model {bare!r}; try again, or choose"
                " another model"
            )
        found = self.find(name)
        if found is None:
            raise SettingsError(
                f"{WHOSE} has no model {bare!r} now; sign in to the extension that brings it, such"
                " as GitHub Copilot, or choose another model"
            )
        return found

    async def _ask(self, connection: ModelConnection) -> tuple[EditorModel, ...] | None:
        found = await connection.models()
        usable = None if found is None else _usable(found)
        # In any other case, the models have changed in the meantime.
        if self._asking is asyncio.current_task():
            self._asking, self._known = None, usable
        return usable


NO_EDITOR = EditorModels()
"""The models of a client that offers no models of its own."""


def _usable(models: Sequence[EditorModel]) -> tuple[EditorModel, ...]:
    """Return the usable models of an extension's list, without duplicates."""
    found: dict[str, EditorModel] = {}
    for one in models:
        if one.name.isprintable() and len(one.name) <= MOST_NAME:
            window = one.window if one.window and 0 < one.window <= MOST_WINDOW else None
            found.setdefault(one.name, msgspec.structs.replace(one, window=window))
    return tuple(found.values())[:MOST_MODELS]
