"""Opens the session of an ``indwell run``: a new, a resumed or a rewound session."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
from rich.console import Console

from indwell.agent.core.session import Session
from indwell.agent.features.plan import board_of
from indwell.cli.run.grammar import NEWEST, RunOptions
from indwell.cli.stored.sessions import whole_id
from indwell.cli.terminal.front_door import TerminalDoor, TerminalPerson
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.telling import tell
from indwell.context.untrusted_text import visible
from indwell.errors import SessionError
from indwell.review.ledger import ReviewLedger
from indwell.service.endpoint.editor_models import EditorModels
from indwell.service.service import Service
from indwell.service.sessions.inherited_task import take_task
from indwell.service.sessions.plan_commands import approve
from indwell.service.sessions.review_ledgers import open_ledger
from indwell.service.sessions.session_commands import FilesBack
from indwell.sessions.branches import Rewind
from indwell.sessions.forking import rewind_session
from indwell.sessions.storage.store import SessionStore
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder, undo_folder
from indwell.wiring.compose import look_ahead
from indwell.wiring.metered_model import CallMeter, metered
from indwell.wiring.model import Model, make_model
from indwell.workspace.base import Workspace
from indwell.workspace.disk import DiskWorkspace


def carrying_out(settings: Settings) -> Settings:
    """Return the settings of a turn that carries out a plan, in ``review`` mode."""
    if settings.mode != "plan":
        return settings
    return msgspec.structs.replace(settings, mode="review")


NOTHING = "the files hold no changes of later turns"
# the time limit in seconds, because a person at a terminal may take any time
ANSWER_S = 24 * 3600.0


async def taken_back(
    store: SessionStore,
    session: str,
    turn: int,
    *,
    ledger: ReviewLedger | None,
    workspace: Workspace,
) -> Rewind:
    """Rewind the conversation, then the files if there is a ``ledger``.

    If a restore would lose the user's work, the user is asked at the terminal. Without a terminal,
    the work is kept. Notices report the outcome for the files.

    Raises:
        SessionError: The session or turn does not exist, or the session is open or cannot be
            written.
    """
    made = await rewind_session(store, session, turn, now=datetime.now(UTC))
    if ledger is None:
        return made
    console = Console(stderr=True)
    door = TerminalDoor(lambda _event: None, TerminalPerson(console), console)
    said = await FilesBack(ledger, workspace, door, timeout_s=ANSWER_S).take(session, turn)
    of_files = (*ledger.take_notices(), *said) or (NOTHING,)
    return made._replace(notices=(*made.notices, *of_files))


def tell_rewound(session: str, made: Rewind, *, as_json: bool, files: bool = False) -> None:
    """Report the rewind, and how to resume the session."""
    if as_json:
        data = {"session": session, **made._asdict()}
        sys.stdout.write(json_line(data) + "\n")
        return
    tell_notices(made.notices)
    where = f"the end of turn {made.turn}" if made.turn else "its beginning"
    tell(f"rewound to {where}" + ("" if files else "; files are unchanged (--files restores them)"))
    if made.draft:
        tell(f"your next prompt was: {visible(made.draft)}")
    tell(f'resume it: `indwell run --resume {session} "…"`')


def tell_notices(notices: Sequence[str]) -> None:
    """Print notices for the user on stderr."""
    for notice in notices:
        tell(visible(notice), file=sys.stderr)


GO_ON = "Go on where you stopped."


class LeanModels:
    """Creates the model of a command's only session; implements ``ModelMaker``.

    Args:
        meter: Is asked before each model call, if there is a meter.
    """

    def __init__(self, meter: CallMeter | None = None) -> None:
        self._meter = meter

    async def get(self, settings: Settings, editor: EditorModels) -> Model:
        """Create the model, and probe the sandbox at the same time.

        Garbage collection starts here, without the modules that are already imported.

        Raises:
            UserError: No model is chosen, or its key is missing.
        """
        del editor  # A terminal offers no models of its own.
        tried = asyncio.get_running_loop().run_in_executor(None, look_ahead)
        try:
            model = await asyncio.to_thread(make_model, settings)
            gc.freeze()
        finally:
            gc.enable()
        await tried
        return model if self._meter is None else metered(model, self._meter)

    def begin(self, settings: Settings) -> None:
        """Do nothing, because the session opens immediately."""
        del settings


async def session_of(wish: RunOptions, service: Service) -> tuple[Session, str]:
    """Open the session of the prompt; return the session and the prompt."""
    store = SessionStore(state_folder(os.environ), service.root)
    return await (_resumed if wish.session else _begun)(wish, service, store)


async def _begun(wish: RunOptions, service: Service, store: SessionStore) -> tuple[Session, str]:
    """Create a session, perhaps with another session's task; return it and its prompt."""
    origin = await asyncio.to_thread(_identified, wish.origin, store) if wish.origin else ""
    session = await service.sessions.get("new")
    if not origin:
        return session, wish.words
    return session, _words(wish, await take_task(session, store, origin))


async def _resumed(wish: RunOptions, service: Service, store: SessionStore) -> tuple[Session, str]:
    """Resume a session; return the session and its next prompt.

    Raises:
        UserError: The session cannot be resumed.
    """
    identifier = await asyncio.to_thread(_identified, wish.session, store)
    if wish.turn is not None:
        back = await service.review.ready() if wish.files else None
        made = await taken_back(
            store, identifier, wish.turn, ledger=back, workspace=service.workspace
        )
        tell_notices(made.notices)
    resumed = await service.sessions.resume(identifier, wish.model or None)
    service.warn(resumed.notices)
    if wish.approves and board_of(resumed.session).plan.state != "approved":
        return resumed.session, await approve(resumed.session, wish.words)
    return resumed.session, _words(wish, resumed.draft)


def _words(wish: RunOptions, draft: str) -> str:
    """Return the user's prompt; without a prompt, return the saved draft."""
    return wish.words if wish.words.strip() else draft or GO_ON


async def rewound(wish: RunOptions) -> tuple[str, Rewind]:
    """Rewind the conversation, and restore the files if requested.

    Raises:
        SessionError: The conversation cannot be rewound.
        SettingsError: The ledger cannot be stored in any folder.
    """
    assert wish.turn is not None
    workspace = DiskWorkspace([wish.folder], private=undo_folder(os.environ))
    store = SessionStore(state_folder(os.environ), workspace.roots[0])
    session = await asyncio.to_thread(_identified, wish.session, store)
    ledger = await open_ledger(os.environ, workspace.roots) if wish.files else None
    made = await taken_back(store, session, wish.turn, ledger=ledger, workspace=workspace)
    return session, made


def _identified(given: str, store: SessionStore) -> str:
    """Return the full id of a session of this folder.

    Raises:
        SessionError: No session matches, or several sessions match.
    """
    known = store.ids()
    if given == NEWEST:
        if not known:
            raise SessionError("this folder has no session to resume; begin one with `indwell run`")
        return known[0]
    session = whole_id(given, known)
    store.check(session)
    return session
