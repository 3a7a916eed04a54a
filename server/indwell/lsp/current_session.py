"""The current session: opened when a turn first needs it, with the model that is chosen by then."""

from __future__ import annotations

from collections.abc import Callable

from indwell.agent.session import Session
from indwell.errors import SettingsError, UserError
from indwell.lsp.backend import Backend
from indwell.lsp.client import Client
from indwell.lsp.configuration import Configuration, model_identity
from indwell.lsp.first_run import FirstRun
from indwell.settings.model import Settings
from indwell.workspace.base import Workspace


class CurrentSession:
    """At most one session is open; the next prompt goes to it.

    Args:
        client: Asked in the first run, and for permissions.
        backend: Opens sessions.
        configuration: Says which model is chosen.
        settings: Those in force for the running turn.

    Attributes:
        workspace: The user's files; set before the first turn.
        first_run: Leads to a usable model where there is none.
    """

    def __init__(
        self,
        client: Client,
        backend: Backend,
        configuration: Configuration,
        settings: Callable[[], Settings],
    ) -> None:
        self.workspace: Workspace | None = None
        self.first_run = FirstRun(client, backend)
        self._client = client
        self._backend = backend
        self._configuration = configuration
        self._settings = settings
        self._session: Session | None = None
        self._model: tuple[object, ...] = ()

    @property
    def current(self) -> Session | None:
        """The open one."""
        return self._session

    @property
    def id(self) -> str | None:
        """Its id."""
        return self._session.id if self._session else None

    def id_of(self, wanted: str | None) -> str:
        """The session that is meant: the current one if none is named.

        Raises:
            UserError: None is named, and there is no current one.
        """
        named = wanted or self.id
        if named is None:
            raise UserError("no session has begun yet; name one that indwell/sessions lists")
        return named

    def check(self, target: str | None) -> None:
        """Return if a prompt can go there.

        Raises:
            UserError: It is not open.
        """
        if target not in {None, "new", self.id}:
            raise UserError(
                f"there is no open session {target!r}; leave `session` out, or say 'new'"
            )

    async def get(self, target: str | None) -> Session:
        """The session of a turn that begins; where no model is usable, the first run comes first.

        Raises:
            UserError: There can be none, in plain words.
        """
        await self._configuration.known()
        self.check(target)
        if target == "new":
            await self.leave()
        try:
            return await self._with_model()
        except SettingsError:
            if not await self.first_run.run():
                raise
            await self._configuration.read_again()
            return await self._with_model()

    async def leave(self) -> None:
        """Let the next prompt begin a new one."""
        if self._session is not None:
            old, self._session = self._session, None
            await old.close()

    async def _with_model(self) -> Session:
        settings = self._configuration.settings
        model = model_identity(settings)
        if self._session is None:
            assert self.workspace is not None
            approver = self._backend.approver(self._client, settings)
            self._session = await self._backend.open_session(
                self.workspace, approver, self._settings
            )
        elif model != self._model:
            await self._backend.switch_model(self._session, settings)
        self._model = model
        return self._session
