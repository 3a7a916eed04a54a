"""The session of an ``indwell run``: a new one, one that goes on, or one taken back."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

import msgspec

from indwell.agent.session import Session
from indwell.cli.approved_plan import approve
from indwell.cli.chosen_model import make_model
from indwell.cli.compose import open_session
from indwell.cli.folder_trust import FolderTrust
from indwell.cli.new_from import take_task
from indwell.cli.review_ledger import open_ledger, opened_for
from indwell.cli.rewound_session import taken_back, tell_notices
from indwell.cli.run_wish import NEWEST, Wish
from indwell.cli.sessions import whole_id
from indwell.errors import SessionError, UserError
from indwell.policy.approvals import Approver
from indwell.sessions.branches import Rewind
from indwell.sessions.store import SessionStore
from indwell.settings.model import Settings
from indwell.settings.places import state_folder, undo_folder
from indwell.workspace.base import Workspace
from indwell.workspace.disk import DiskWorkspace

GO_ON = "Go on where you stopped."


async def session_of(
    wish: Wish,
    workspace: Workspace,
    approver: Approver,
    settings: Settings,
    trust: FolderTrust,
    *,
    environment: Mapping[str, str],
) -> tuple[Session, str]:
    """The session that the words go to, and the words.

    Raises:
        UserError: There can be none.
    """
    if wish.session:
        return await _resumed(wish, workspace, approver, settings, trust, environment=environment)
    model = await asyncio.to_thread(make_model, settings)
    store = SessionStore(state_folder(os.environ), workspace.roots[0])
    origin = await asyncio.to_thread(_identified, wish.origin, store) if wish.origin else ""
    session = await open_session(
        workspace,
        approver,
        lambda: settings,
        model,
        environment=environment,
        trust=trust,
        review=await opened_for(workspace, os.environ, lambda: settings),
    )
    if not origin:
        return session, wish.words
    try:
        draft = await take_task(session, store, origin)
    except BaseException:
        await session.close()
        raise
    return session, wish.words if wish.words.strip() else draft or GO_ON


async def _resumed(
    wish: Wish,
    workspace: Workspace,
    approver: Approver,
    settings: Settings,
    trust: FolderTrust,
    *,
    environment: Mapping[str, str],
) -> tuple[Session, str]:
    """The session to go on with, and the words for it: new ones, those not answered, or a nudge.

    Raises:
        UserError: It cannot be gone on with.
    """
    from indwell.cli.resuming import held_with, resume_session

    store = SessionStore(state_folder(os.environ), workspace.roots[0])
    identifier = await asyncio.to_thread(_identified, wish.session, store)
    ledger = await opened_for(workspace, os.environ, lambda: settings)
    if wish.turn is not None:
        back = ledger if wish.files else None
        made = await taken_back(store, identifier, wish.turn, ledger=back, workspace=workspace)
        tell_notices(made.notices)
    if not wish.model:
        seen = await asyncio.to_thread(store.overview, identifier)
        held = await held_with(settings, seen.model)
        if held.problem:
            instead = next(iter(held.instead), "NAME")
            raise SessionError(f"{held.problem}; go on with another one: `--model {instead}`")
        settings = msgspec.structs.replace(settings, model=held.model)
    model = await asyncio.to_thread(make_model, settings)
    resumed = await resume_session(
        identifier,
        workspace,
        approver,
        lambda: settings,
        model,
        environment=environment,
        trust=trust,
        review=ledger,
    )
    if wish.approves:
        try:
            return resumed.session, await approve(resumed.session, wish.words)
        except UserError:
            await resumed.session.close()
            raise
    words = wish.words if wish.words.strip() else resumed.draft or GO_ON
    return resumed.session, words


async def rewound(wish: Wish) -> tuple[str, Rewind]:
    """Take the conversation back, and the files if that is wanted.

    Raises:
        SessionError: It cannot be.
        SettingsError: There is no place for the ledger.
    """
    assert wish.turn is not None
    workspace = DiskWorkspace([wish.folder], private=undo_folder(os.environ))
    store = SessionStore(state_folder(os.environ), workspace.roots[0])
    session = await asyncio.to_thread(_identified, wish.session, store)
    ledger = await open_ledger(os.environ, workspace.roots) if wish.files else None
    made = await taken_back(store, session, wish.turn, ledger=ledger, workspace=workspace)
    return session, made


def _identified(given: str, store: SessionStore) -> str:
    """The whole id of a session of this folder.

    Raises:
        SessionError: There is none, or several begin so.
    """
    known = store.ids()
    if given == NEWEST:
        if not known:
            raise SessionError("there is no session of this folder to go on with; begin one")
        return known[0]
    session = whole_id(given, known)
    store.check(session)
    return session
