"""``indwell run``: one turn from the terminal, on the files as they are on disk."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from rich.console import Console

from indwell.agent import events
from indwell.agent.compacting import COMPACT, is_compact, no_command
from indwell.agent.prompt import Prompt
from indwell.agent.session import Session
from indwell.agent.turn import run_turn
from indwell.agent.words import taken_words
from indwell.cli import STOPPED
from indwell.cli.addresses import address_place
from indwell.cli.chosen_model import NoModel, make_model
from indwell.cli.closed_output import stopping
from indwell.cli.compose import open_session
from indwell.cli.folder_trust import FolderTrust
from indwell.cli.new_from import naming_new_session, take_task
from indwell.cli.own_environment import own_environment
from indwell.cli.review_ledger import open_ledger, opened_for
from indwell.cli.rewound_session import taken_back, tell_notices, tell_rewound
from indwell.cli.sessions import whole_id
from indwell.cli.terminal import AllowingApprover, TerminalApprover, TerminalView
from indwell.cli.trust_question import settled_settings
from indwell.cli.waiting import wait_for
from indwell.context.ide import Selection
from indwell.errors import SessionError, ToolError, UserError
from indwell.messages import Usage
from indwell.policy.approvals import Approver
from indwell.policy.paths import matches_any
from indwell.sessions.branches import Rewind
from indwell.sessions.retention import sweep
from indwell.sessions.store import SessionStore
from indwell.settings.model import Mode, Settings
from indwell.settings.places import state_folder, undo_folder
from indwell.workspace.base import Workspace
from indwell.workspace.disk import DiskWorkspace
from indwell.workspace.paths import display
from indwell.workspace.text import split_lines

NEWEST = "newest"  # no session can have this name: ids begin with a date
GO_ON = "Go on where you stopped."

_PLACE = re.compile(r"^(?P<path>.+?)(?::L?(?P<first>\d+)(?:-L?(?P<last>\d+))?)?$")


class Wish(msgspec.Struct, frozen=True):
    """What was asked for on the command line; ``place`` is ``PATH`` or ``PATH:L1-L2``.

    ``mode`` may be freer than the settings', and ``model`` another: the user's own command line
    says so. ``session`` is the id, or the beginning of it, of one to go on with; ``NEWEST`` the
    newest. Then there need not be ``words``. ``turn``: it goes on from the end of this one;
    ``files``: and they are taken back too.
    ``origin``: as ``session``, of one whose task a new session takes along.
    ``trust``: the folder is trusted, for this time.
    """

    words: str
    folder: Path
    place: str | None = None
    json: bool = False
    scripted: bool = False
    allow: bool = False
    mode: Mode | None = None
    model: str = ""
    session: str = ""
    turn: int | None = None
    files: bool = False
    origin: str = ""
    trust: bool = False


class WrongPlace(UserError):
    """``--file`` names nothing that can be sent."""


def run(wish: Wish) -> int:
    """Run it; 0 if the turn is done, 1 if not, 2 if the command line was wrong."""
    view: events.Listener = _print_json if wish.json else TerminalView(Console())
    if refused := _refused(wish):
        view(_failed(refused, ""))
        return 1
    try:
        if wish.turn is not None and not wish.words.strip():
            session, made = wait_for(_rewound(wish))
            tell_rewound(session, made, as_json=wish.json, files=wish.files)
            return 0
        finished = wait_for(_turn(wish, view))
    except WrongPlace as error:
        view(_failed(f"--file: {error}", wish.words))
        return 2
    except NoModel as error:
        view(_failed(f"{error}{wait_for(_what_runs_here())}", wish.words))
        return 1
    except (UserError, ToolError) as error:
        view(_failed(str(error), wish.words))
        return 1
    except KeyboardInterrupt:
        return STOPPED  # the turn has told its end already
    except asyncio.CancelledError:
        return 1  # nobody reads any more
    return 0 if finished.ending == "done" else 1


def _refused(wish: Wish) -> str:
    """Why nothing is begun for these words, if it is a command that cannot be done."""
    if is_compact(wish.words) and not wish.session:
        return f"there is no conversation yet to shorten; go on with one: `--continue {COMPACT}`"
    return no_command(wish.words)


async def _turn(wish: Wish, view: events.Listener) -> events.TurnFinished:
    view = stopping(_placing(view))
    environment = own_environment()
    workspace = DiskWorkspace([wish.folder], private=undo_folder(os.environ))
    trust = FolderTrust(os.environ, is_given=wish.trust)
    settings = await settled_settings(workspace.roots, trust, view, environment)
    if wish.scripted:
        settings = msgspec.structs.replace(settings, provider="scripted")
    if wish.mode is not None:
        settings = msgspec.structs.replace(settings, mode=wish.mode)
    if wish.model:
        settings = msgspec.structs.replace(settings, model=wish.model)
    selection = None
    if wish.place is not None:
        selection = await _selection(wish.place, workspace, settings)
    approver: Approver = (
        AllowingApprover() if wish.allow else TerminalApprover(Console(stderr=True))
    )
    if wish.session:
        session, words = await _resumed(
            wish, workspace, approver, settings, trust, environment=environment
        )
    else:
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
        words = wish.words
    try:
        if not wish.session and origin:
            draft = await take_task(session, store, origin)
            words = words if words.strip() else draft or GO_ON
        words = taken_words(words)
        prompt = Prompt(words=words, title=words[:60], selection=selection)
        return await run_turn(session, prompt, naming_new_session(view, session.id))
    finally:
        await session.close()
        if settings.keep_sessions_days is not None:
            await asyncio.to_thread(_sweep, settings.keep_sessions_days)


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
    words = wish.words if wish.words.strip() else resumed.draft or GO_ON
    return resumed.session, words


async def _rewound(wish: Wish) -> tuple[str, Rewind]:
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


def _placing(view: events.Listener) -> events.Listener:
    """``view``, told where the address stands that nobody answers at."""

    def tell(event: events.Event) -> None:
        if isinstance(event, events.TurnFinished) and event.retryable:
            message = f"{event.message}{address_place(os.environ)}"
            event = msgspec.structs.replace(event, message=message)
        view(event)

    return tell


def _sweep(keep_days: int) -> None:
    """Delete old sessions, as the server does."""
    sweep(state_folder(os.environ), keep_days=keep_days, now=datetime.now(UTC))


async def _what_runs_here() -> str:
    """The end of a sentence about a missing model: a server on this machine that could be used."""
    from indwell.providers.discovery import find_servers

    ready = [one for one in await find_servers(environment=os.environ) if one.is_ready]
    return f"; {ready[0].title} runs here: `indwell login {ready[0].name}`" if ready else ""


async def _selection(place: str, workspace: Workspace, settings: Settings) -> Selection:
    """The lines that ``--file`` names, as if they were marked in an editor.

    Raises:
        WrongPlace: There is no such file, it may not be sent, or it has no such lines.
    """
    match = _PLACE.match(place)
    if match is None:
        raise WrongPlace("the name is empty; write PATH or PATH:L1-L2")
    try:
        path = workspace.resolve(match["path"])
        snapshot = await workspace.read(path)
    except ToolError as error:
        raise WrongPlace(str(error)) from error
    shown = display(path, workspace.roots)
    if any(matches_any(name, settings.deny) for name in (shown, match["path"])):
        raise WrongPlace(f"{shown!r} matches a deny rule for secrets, so it is not sent")
    lines = split_lines(snapshot.text)
    first = int(match["first"] or 1)
    last = int(match["last"] or match["first"] or len(lines))
    if not 1 <= first <= last <= len(lines):
        raise WrongPlace(f"{shown!r} has {len(lines)} lines, so there is no range {first}-{last}")
    return Selection(
        path=shown, first_line=first, last_line=last, text="".join(lines[first - 1 : last])
    )


def _print_json(event: events.Event) -> None:
    try:
        line = msgspec.json.encode(event).decode()
    except UnicodeEncodeError:  # half of a character, in a file's name perhaps
        line = json.dumps(msgspec.to_builtins(event))
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _failed(message: str, draft: str) -> events.TurnFinished:
    return events.TurnFinished(
        turn=0,
        ending="failed",
        message=message,
        answer="",
        draft=draft,
        rounds=0,
        usage=Usage(),
        cost=0.0,
        seconds=0.0,
    )
