"""Finds, tests and stores the user's model endpoint, for a client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from indwell.errors import SettingsError, ToolError
from indwell.files.append_log import make_private_folder
from indwell.files.contents.atomic import write_atomic
from indwell.files.spelling import quoted
from indwell.messages import EFFORTS, Effort
from indwell.providers.catalogue import CATALOGUE
from indwell.providers.endpoint import EndpointStep, LocalServer, LoginOutcome
from indwell.providers.offered_models import OfferedModel
from indwell.service.endpoint.editor_models import WHOSE, EditorModels
from indwell.service.endpoint.model_list import facts_of, offered_models
from indwell.service.stored_keys import has_key, key_store, with_stored_key
from indwell.service.user_settings import read_settings
from indwell.settings.credentials import EDITOR_URL, Secret
from indwell.settings.endpoints import EDITOR, is_editors
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder, user_file


class Connecting:
    """Explains why no model can be called, finds local servers, and tests and stores endpoints.

    Args:
        environment: The process's variables.
        settings: Returns the user's own settings, as last read.
        editor: The editor's own language models.
        scripted: Whether to use the scripted model in place of the user's model.

    Attributes:
        is_scripted: Whether the scripted model is used.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        settings: Callable[[], Settings],
        editor: EditorModels,
        *,
        scripted: bool = False,
    ) -> None:
        self._environment = environment
        self._settings = settings
        self.editor = editor
        self.is_scripted = scripted

    async def login(
        self,
        provider: str,
        key: str | None,
        base_url: str | None,
        model: str | None = None,
        *,
        by_client: bool = False,
    ) -> LoginOutcome:
        """Test an endpoint with its key, and store both; keep the chosen model if it is offered.

        The provider ``vscode`` is the editor, whose models are not tested, because each request may
        count against the user's subscription.

        Raises:
            UserError: The provider is unknown, or the key is malformed.
        """
        from indwell.service.endpoint.connect import address_of

        if provider == EDITOR:
            return await self._use_editor(model)
        address = base_url or address_of(provider)
        return await self._connect(address, key, model, by_client=by_client)

    async def connect(self, base_url: str, key: str | None, model: str | None) -> LoginOutcome:
        """Test an address, and store it; the system's keyring keeps the key.

        Raises:
            UserError: The address or the key is malformed.
        """
        return await self._connect(base_url, key, model, by_client=False)

    async def _connect(
        self, base_url: str, key: str | None, model: str | None, *, by_client: bool
    ) -> LoginOutcome:
        """Connect as ``connect.connect`` does; if no model is given, use the current or only one.

        Raises:
            UserError: The address or the key is malformed, or the settings file is broken.
        """
        from indwell.service.endpoint.connect import Endpoint, EndpointPlaces, connect
        from indwell.settings.values import convert

        secret: Secret | None = convert("api_key", key) if key else None

        async def keep_current(offered: tuple[OfferedModel, ...]) -> str | None:
            names = {one.name for one in offered}
            model = self._settings().model
            return model if model in names else None

        places = EndpointPlaces(user_file(), key_store(), self._environment)
        keep: Literal["client", "keyring"] = "client" if by_client else "keyring"
        endpoint = Endpoint(base_url, secret, model, keep=keep)
        return await connect(endpoint, places, pick=keep_current)

    async def _use_editor(self, model: str | None) -> LoginOutcome:
        """Store one of the editor's own models as the model of the user's settings.

        Raises:
            UserError: The settings file is broken, or cannot be written.
        """
        from indwell.service.endpoint.connect import store_model

        offered = await self.editor.offered()
        names = tuple(one.name for one in offered)
        if model is None and len(names) == 1:
            model = names[0]
        if model is None or model not in names:
            words = "no model was chosen" if names else f"{WHOSE} offers no model"
            fix = "choose one" if names else "sign in to an extension that brings some"
            step = EndpointStep("models", "fail", words, fix)
            message = f"{WHOSE} cannot be used yet; nothing was stored"
            return LoginOutcome(
                ok=False,
                base_url=EDITOR_URL,
                model="",
                steps=(step,),
                message=message,
                offered=offered,
            )
        notes = await asyncio.to_thread(store_model, model, user_file(), self._environment)
        step = EndpointStep("models", "ok", f"{WHOSE} offers {model}")
        message = f"{model} answers from now on"
        return LoginOutcome(
            ok=True,
            base_url=EDITOR_URL,
            model=model,
            steps=(step,),
            message=message,
            notes=notes,
        )

    async def lacking(self) -> str:
        """Return the current reason why no model can be called, or an empty text."""
        if self.is_scripted:
            return ""
        return await asyncio.to_thread(self._lacking)

    async def local_servers(self) -> tuple[LocalServer, ...]:
        """Find model servers on this machine."""
        from indwell.providers.discovery import find_servers

        return await find_servers(environment=self._environment)

    async def first_run_page(self) -> Path:
        """Write the page for new users to the state folder; return the page's path.

        Raises:
        UserError: The page cannot be written.
        """
        return await asyncio.to_thread(write_page, state_folder(self._environment))

    async def models(self) -> tuple[OfferedModel, ...]:
        """Return the models of the endpoint in use; see ``offered_models``.

        Raises:
            UserError: The endpoint cannot be asked.
        """
        return await offered_models(self._settings(), self.editor)

    async def seems_lacking(self) -> str:
        """Return why no model can be called, without opening a keyring, or an empty text."""
        return "" if self.is_scripted else await self.users_lack()

    async def users_lack(self) -> str:
        """Return why the user's own settings name no usable model, or empty if they name one."""
        return await asyncio.to_thread(self._seems_lacking)

    async def pictures(self, settings: Settings) -> bool | None:
        """Return whether the model accepts pictures, as far as known, or None if unknown."""
        if settings.provider == "scripted" or not settings.model:
            return None if settings.provider != "scripted" else False
        if is_editors(settings.model):
            await self.editor.look()
            told = self.editor.find(settings.model)
            return None if told is None else told.pictures
        if settings.pictures is not None:
            return settings.pictures
        return (await asyncio.to_thread(facts_of, settings)).images

    async def efforts(self, settings: Settings) -> tuple[Effort, ...]:
        """Return the efforts to choose from, or nothing if the model is not known to reason."""
        if settings.provider == "scripted" or not settings.model:
            return ()
        known = await asyncio.to_thread(facts_of, settings)
        return EFFORTS if known.reasoning else ()

    def _lacking(self) -> str:
        from indwell.settings.load import lacking

        try:
            settings = read_settings(self._environment).settings
            if settings.model:
                settings = with_stored_key(settings, key_store())
        except SettingsError as error:
            return str(error)
        return lacking(settings, str(user_file()))

    def _seems_lacking(self) -> str:
        from indwell.settings.load import lacking

        try:
            settings = read_settings(self._environment).settings
            missing = lacking(settings, str(user_file()))
            return "" if settings.model and has_key(settings, key_store()) else missing
        except SettingsError as error:
            return str(error)


PAGE_NAME = "first-run.md"

_TEXT = """\
# Choose a model for Indwell

In a terminal:

    indwell login

It finds model servers that run on this machine, asks for a provider and a key, tests that the
model answers and calls tools, and stores the choice: address and model in `{config}`, the key in
the system's keyring. Editors take it with their next request; nothing has to be typed again.

Where a key would come from, and which names `indwell login NAME` knows:

{providers}
Any other OpenAI-compatible endpoint: `indwell login https://host/v1`.

An editor that was started from the desktop does not see the variables that a shell exports
(`OPENAI_API_KEY` and others), so a key that works in the terminal may be missing there. What
`indwell login` stores is seen by both.

`indwell doctor` says what is still missing, and how to fix it.
"""


def page(config: str) -> str:
    """Return the page as Markdown.

    Args:
        config: The path of the user's settings, as shown to people.
    """
    return _TEXT.format(config=config, providers=provider_table())


def provider_table() -> str:
    """Return the provider catalogue as a Markdown table."""
    rows = ["| Name | Provider | Address | Key |", "|---|---|---|---|"]
    for row in CATALOGUE:
        key = "only if the server wants one" if not row.needs_key else ""
        if row.key_page:
            key = f"[{urlsplit(row.key_page).hostname}]({row.key_page})"
        rows.append(f"| `{row.name}` | {row.title} | `{row.base_url}` | {key} |")
    return "\n".join(rows) + "\n"


def write_page(folder: Path) -> Path:
    """Write the page into ``folder``; return its path.

    Raises:
        SettingsError: The folder cannot be written.
    """
    path = folder / PAGE_NAME
    try:
        make_private_folder(folder)
        return write_atomic(path, page(str(user_file())).encode(), [folder])
    except (ToolError, OSError) as error:
        raise SettingsError(
            f"the page cannot be written to {quoted(path)} ({error}); run `indwell login` in a "
            "terminal"
        ) from error
