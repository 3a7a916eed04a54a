"""The composition root of a session: settings in, parts out. Only here are concrete parts named."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from indwell.agent.budget import Budgets
from indwell.agent.compact_tool import Wish, make_compact
from indwell.agent.log import Log
from indwell.agent.resume import tools_digest
from indwell.agent.session import Parts, Session
from indwell.agent.todo_tool import TodoBoard, make_todo
from indwell.cli.budgets import budgets_of, unkept
from indwell.cli.check_commands import gate_of
from indwell.cli.chosen_model import Model
from indwell.cli.confining import confiner, strength
from indwell.cli.covering import coverage_of
from indwell.cli.folder_trust import FolderTrust
from indwell.cli.sandbox_state import notice_of
from indwell.cli.secrecy import also_hiding, hiding
from indwell.cli.secret_places import SecretPlaces
from indwell.cli.spill import Spill
from indwell.cli.surroundings import instructions_of, surroundings_of, this_machine
from indwell.context.compaction.presets import PRESETS
from indwell.context.conversation import Config, Conversation, system_block
from indwell.context.pictures import without_pictures
from indwell.errors import SessionError
from indwell.files.scratch import scratch_folder
from indwell.policy.approvals import Approver
from indwell.policy.asked import Policy
from indwell.policy.paths import is_beneath, matches_any
from indwell.policy.rules import Rules, aimless
from indwell.policy.widening import Widening
from indwell.prompt.system import system_prompt
from indwell.review.ledger import ReviewLedger
from indwell.sandbox.confinement import Confinement, Strength
from indwell.sandbox.finding import own_installation
from indwell.sessions.ids import RANDOM_B, new_id
from indwell.sessions.memory_log import MemoryLog
from indwell.sessions.records import Prefixed
from indwell.sessions.spending import SpendingLedger
from indwell.sessions.store import SessionStore, folder_name
from indwell.settings.model import Settings
from indwell.settings.places import state_folder, user_file
from indwell.settings.rules import RuleBook
from indwell.tools.commands.bash import Shell
from indwell.tools.table import standard_tools
from indwell.workspace.base import Workspace


class Place(NamedTuple):
    """Where a session is written down; ``notice`` if it is not.

    Attributes:
        id: The session's.
        log: Its log.
        spill: The folder of its long texts; ``n_spilled`` are there already.
        others: Folders of other sessions' long texts that its conversation names.
    """

    id: str
    log: Log
    spill: Path
    n_spilled: int = 0
    notice: str = ""
    others: tuple[Path, ...] = ()


async def open_session(
    workspace: Workspace,
    approver: Approver,
    settings: Callable[[], Settings],
    model: Model,
    *,
    environment: Mapping[str, str],
    trust: FolderTrust | None = None,
    review: ReviewLedger | None = None,
) -> Session:
    """Begin a session in a workspace, with a model; where it cannot be saved, it says so.

    Raises:
        UserError: A setting cannot be used.
    """
    store = SessionStore(state_folder(environment), workspace.roots[0])
    looking = asyncio.get_running_loop().run_in_executor(None, strength)
    place = await asyncio.to_thread(_new_place, store, model.name)
    session = make_session(
        place,
        workspace,
        approver,
        settings,
        model,
        environment=environment,
        trust=trust,
        review=review,
    )
    # It takes up to 20 ms, once, for which no prompt waits: then the second turn tells it.
    looking.add_done_callback(lambda held: _tell_state(session, held))
    session.parts.log.append(prefix_of(session))
    return session


def _tell_state(session: Session, held: asyncio.Future[Strength]) -> None:
    if not held.cancelled():
        session.notice = "; ".join(filter(None, (session.notice, notice_of(held.result()))))


def prefix_of(session: Session) -> Prefixed:
    """What stands before every request of a session, for its log."""
    talk = session.conversation
    system = tuple(block.text for block in talk.system)
    digest = tools_digest(talk.tools)
    return Prefixed(system=system, tools=digest, at=session.timestamp(), specs=talk.tools)


def _new_place(store: SessionStore, model: str) -> Place:
    """Begin a log; in memory where nothing can be written, for the work must go on (PER-08)."""
    strength()  # blocks when it is asked for the first time, so here and not where it is used
    now = datetime.now(UTC)
    try:
        identifier, log = store.create(model=model, now=now)
    except SessionError as error:
        identifier = new_id(now, os.urandom(RANDOM_B))
        notice = f"this session is not saved, and cannot be gone on with later: {error}"
        return Place(identifier, MemoryLog(), scratch_folder(), notice=notice)
    return Place(identifier, log, store.spill(identifier))


def make_session(
    place: Place,
    workspace: Workspace,
    approver: Approver,
    settings: Callable[[], Settings],
    model: Model,
    *,
    environment: Mapping[str, str],
    trust: FolderTrust | None = None,
    review: ReviewLedger | None = None,
) -> Session:
    """Put the parts of a session together; its conversation is empty.

    Without ``trust``, folders are looked at here, and nobody is asked about them.
    """
    now_settings = settings()
    root = workspace.roots[0]
    if trust is None:
        trust = FolderTrust(environment)
        trust.look(workspace.roots, now_settings)
    state = state_folder(environment)
    budgets = budgets_of(now_settings)
    rules = RuleBook(state / "permissions" / f"{folder_name(root)}.json")
    wish = Wish()
    secret = SecretPlaces(workspace.roots, lambda: settings().deny)

    @lru_cache(maxsize=1)
    def bounds(
        trusted: tuple[Path, ...], restricted: tuple[str, ...]
    ) -> Callable[[Widening], Confinement | None]:
        left = tuple(dict.fromkeys(Path(one).resolve() for one in restricted))
        return confiner(trusted, settings, own=own, restricted=left)

    def confine(widening: Widening) -> Confinement | None:
        return bounds(trust.trusted(workspace.roots), trust.restricted(workspace.roots))(widening)

    shell = Shell(root, timeout_s=now_settings.command_timeout_s)
    board = TodoBoard()
    tools = standard_tools(shell, make_compact(wish), make_todo(board))
    spill_folder = place.spill.resolve()
    hide = hiding(settings, model.key, environment)
    spill = Spill(spill_folder, n_kept=place.n_spilled, hide=hide)
    own = (str(state.resolve()), str(user_file().parent.resolve()))
    readable = (spill_folder, *place.others)
    parts = Parts(
        provider=model.provider,
        tools=tools,
        workspace=workspace,
        approver=approver,
        mode=lambda: settings().mode,
        policy=lambda: Policy(
            mode=settings().mode,
            deny=settings().deny,
            granted=rules.granted,
            rules=rules_of(settings()),
            own=own,
            readable=tuple(map(str, readable)),
            roots=tuple(map(str, trust.trusted(workspace.roots))),
            restricted=trust.restricted(workspace.roots),
            obeyed=(
                *trust.obeyed(workspace.roots),
                *map(str, own_installation(workspace.roots)),
            ),
            writes_confined=strength().level in {"S3", "S3m"},
            sandbox=strength().words,
            asks_for_all=strength().level == "S0",
        ),
        grant=rules.grant,
        log=place.log,
        spill=spill.keep,
        keep_as=spill.keep_as,
        read_roots=readable,
        hidden=lambda path: (
            matches_any(path, settings().deny)
            or is_beneath(str(root / path), own)
            or secret.is_other_name(root / path)
        ),
        surroundings=lambda: surroundings_of(workspace, model.name),
        instructions=lambda: instructions_of(workspace, settings(), trust),
        cost=model.cost,
        now=lambda: datetime.now(UTC),
        monotonic=time.monotonic,
        round_limit=now_settings.round_limit,
        budgets=budgets,
        ledger=SpendingLedger(state, lambda: datetime.now(UTC)),
        hang_up=model.hang_up,
        preset=PRESETS[now_settings.compaction],
        rates=model.rates,
        small=model.small,
        wish=wish,
        todo=board,
        confine=confine,
        hide=hide,
        secret_files=secret.look,
        repositories=secret.repositories,
        gate=gate_of(workspace, settings, trust),
        review=review,
        coverage=coverage_of(workspace, review, secret.look, own, hide),
    )
    prompt = system_prompt(
        this_machine(), tuple(spec.name for spec in tools.specs), now_settings.instructions
    )
    conversation = Conversation(
        config=Config(
            model.name,
            model.window,
            model.max_output,
            cache_key=place.id,
            takes_pictures=model.pictures,
        ),
        system=(system_block(prompt),),
        tools=tools.specs,
    )
    lost = aimless(rules_of(now_settings), (spec.name for spec in tools.specs))
    return Session(
        id=place.id,
        parts=parts,
        conversation=conversation,
        notice=_notice(model, budgets, rules.problem, place.notice, lost),
    )


def rules_of(settings: Settings) -> Rules:
    """The rules that the settings hold."""
    return Rules(settings.rules_allow, settings.rules_ask, settings.rules_deny)


def with_model(session: Session, model: Model) -> None:
    """Let the next turn of ``session`` ask another model; the conversation goes on."""
    workspace, before = session.parts.workspace, session.parts.hang_up

    async def hang_up() -> None:
        await before()
        await model.hang_up()

    session.parts = replace(
        session.parts,
        provider=model.provider,
        hang_up=hang_up,
        cost=model.cost,
        surroundings=lambda: surroundings_of(workspace, model.name),
        rates=model.rates,
        small=model.small,
        hide=also_hiding(session.parts.hide, model.key),
    )
    config = msgspec.structs.replace(
        session.conversation.config,
        model=model.name,
        window=model.window,
        max_output=model.max_output,
        takes_pictures=model.pictures,
    )
    conversation = session.conversation
    if not model.pictures:
        conversation = without_pictures(conversation)
    session.conversation = msgspec.structs.replace(conversation, config=config)
    session.notice = _notice(model, session.parts.budgets)


def _notice(model: Model, budgets: Budgets, *more: str) -> str:
    return "; ".join(filter(None, (model.notice, unkept(budgets, model.name, model.cost), *more)))
