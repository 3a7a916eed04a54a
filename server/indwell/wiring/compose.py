"""The composition root of a session: settings in, parts out. Only here are concrete parts named."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from indwell.agent.features.instructions.feature import Instructions
from indwell.agent.features.skills.shelf import Shelf
from indwell.agent.git_entries import GitEntries
from indwell.agent.git_note import GitNote
from indwell.agent.parts import Parts
from indwell.agent.session import Session
from indwell.context.compaction.presets import PRESETS
from indwell.policy.approvals import Approver
from indwell.policy.paths import is_beneath, matches_any
from indwell.policy.rules import aimless
from indwell.review.ledger import ReviewLedger
from indwell.sandbox.confinement import Strength
from indwell.service.folder_trust import FolderTrust
from indwell.service.secrecy import Secrecy
from indwell.service.secret_places import SecretPlaces
from indwell.sessions.memory_log import MemoryLog
from indwell.sessions.spending import SpendingLedger
from indwell.sessions.store import SessionStore, folder_name
from indwell.settings.model import Settings
from indwell.settings.places import state_folder, user_file
from indwell.settings.rules import RuleBook
from indwell.tools.commands.bash import Shell
from indwell.wiring.bounds.bounds_now import BoundsNow
from indwell.wiring.bounds.confining import strength
from indwell.wiring.bounds.home_view import homes, is_private
from indwell.wiring.bounds.policy_now import policy_now, rules_of
from indwell.wiring.bounds.sandbox_state import notice_of
from indwell.wiring.budgets import budgets_of
from indwell.wiring.changed_model import model_notice
from indwell.wiring.covering import coverage_of
from indwell.wiring.features import Given, boards_and_features, tools_of
from indwell.wiring.first_conversation import first_conversation, prefix_of
from indwell.wiring.model import Model
from indwell.wiring.place import Place, new_place
from indwell.wiring.project.check_commands import gate_of
from indwell.wiring.project.hooks import hooks_of
from indwell.wiring.project.instructions import ProjectInstructions, standing_instructions
from indwell.wiring.project.skills import shelf_beside, shelf_of
from indwell.wiring.remembering import companion_of
from indwell.wiring.spill import Spill
from indwell.wiring.subagents import lines_of, subagents_of
from indwell.wiring.surroundings import surroundings_of
from indwell.wiring.taking import taken
from indwell.workspace.base import Workspace


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
    place = await taken(lambda: new_place(store, model.name), lambda made: made.log.close())
    try:
        skills = await shelf_beside(workspace, settings, trust, environment)
        session = make_session(
            place,
            workspace,
            approver,
            settings,
            model,
            environment=environment,
            trust=trust,
            review=review,
            skills=skills,
        )
    except BaseException:
        await place.log.close()
        raise
    # It takes up to 20 ms, once, for which no prompt waits: then the second turn tells it.
    looking.add_done_callback(lambda held: _tell_state(session, held))
    session.parts.log.append(prefix_of(session))
    return session


def _tell_state(session: Session, held: asyncio.Future[Strength]) -> None:
    if not held.cancelled():
        session.notice = "; ".join(filter(None, (session.notice, notice_of(held.result()))))


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
    skills: Shelf | None = None,
) -> Session:
    """Put the parts of a session together; its conversation is empty.

    Without ``trust``, folders are looked at here, and nobody is asked about them; without
    ``skills``, these are.
    """
    now_settings = settings()
    root = workspace.roots[0]
    if trust is None:
        trust = FolderTrust(environment)
        trust.look(workspace.roots, now_settings)
    state = state_folder(environment)
    budgets = budgets_of(now_settings)
    rules = RuleBook(state / "permissions" / f"{folder_name(root)}.json")
    secret = SecretPlaces(workspace.roots, lambda: settings().deny)
    shell = Shell(root, timeout_s=now_settings.command_timeout_s)
    shelf = skills or shelf_of(workspace, settings, trust, environment)
    folder = None if isinstance(place.log, MemoryLog) else place.spill.parent
    subagents = subagents_of(settings, workspace.roots, trust, folder)
    companion = companion_of(place.id, approver, settings, root, environment)
    instructions = ProjectInstructions(workspace, settings, trust)
    own = (str(state.resolve()), str(user_file().parent.resolve()))
    bounds = BoundsNow(workspace, settings, trust, shelf, own=own, quarantine=state / "quarantine")
    given = Given(
        Instructions(instructions.own, instructions.of_folders),
        shelf,
        subagents,
        lines_of(subagents),
        companion,
        lambda: settings().mode,
        hooks_of(workspace, settings, trust),
        bounds.close,
    )
    boards, features = boards_and_features(given)
    tools = tools_of(shell, boards, features)
    spill_folder = place.spill.resolve()
    secrecy = Secrecy(settings, model.key, environment)
    hide = secrecy.hide
    spill = Spill(spill_folder, n_kept=place.n_spilled, hide=hide)
    readable = (spill_folder, *place.others)
    git = GitEntries(
        lambda: tuple(one.resolve() for one in trust.trusted(workspace.roots)),
        GitNote(state / "git" / folder_name(root)),
        lambda: any(one.is_covered for one in boards.background.running),
    )
    opened = [one for one in homes() if any(map(one.is_relative_to, workspace.roots))]
    parts = Parts(
        provider=model.provider,
        tools=tools,
        workspace=workspace,
        approver=approver,
        mode=lambda: settings().mode,
        other_model=model.other,
        policy=lambda: policy_now(
            settings(),
            rules.granted,
            trust,
            workspace.roots,
            own=own,
            readable=(*map(str, readable), *map(str, shelf.readable)),
            in_git=git.in_git,
            git_unchecked=git.unchecked,
        ),
        git=git,
        grant=rules.grant,
        log=place.log,
        spill=spill.keep,
        keep_as=spill.keep_as,
        read_roots=readable,
        is_private=lambda path: is_private(path, workspace.roots, opened),
        hidden=lambda path: (
            matches_any(path, settings().deny)
            or is_private(root / path, workspace.roots, opened)
            or (is_beneath(str(root / path), own) and not shelf.may_read(root / path))
            or secret.is_other_name(root / path)
        ),
        surroundings=lambda: surroundings_of(workspace, model.name),
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
        wish=boards.wish,
        features=features,
        confine=bounds,
        hide=hide,
        also_hide=secrecy.also_hide,
        secret_files=secret.look,
        repositories=secret.repositories,
        gate=gate_of(workspace, settings, trust),
        review=review,
        coverage=coverage_of(workspace, review, secret.look, own, hide),
    )
    own_words, cut = standing_instructions(now_settings)
    conversation = first_conversation(place.id, model, tools, own_words, shelf)
    lost = aimless(rules_of(now_settings), (spec.name for spec in tools.specs))
    told = (rules.problem, companion.memory.problem, place.notice, lost, cut)
    subagents.session = session = Session(
        id=place.id,
        parts=parts,
        conversation=conversation,
        notice=model_notice(model, budgets, *told),
    )
    return session
