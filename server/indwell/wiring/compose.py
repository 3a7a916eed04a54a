"""Creates a session from settings: chooses the concrete implementation of every part."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from indwell import edges
from indwell.agent.core.session import Session
from indwell.agent.core.session_parts import (
    ChangeTracking,
    CompactionChoice,
    Log,
    Parts,
    TurnLimits,
)
from indwell.agent.features.instructions.feature import Instructions
from indwell.agent.features.instructions.project import ProjectInstructions
from indwell.agent.features.mcp.feature import ServerTools
from indwell.agent.features.skills.feature import SkillCatalogue
from indwell.bounds.command_bounds import (
    BoundsNow,
    notice_of,
    strength,
)
from indwell.bounds.current_rules import CurrentRules, rules_of
from indwell.bounds.folder_trust import FolderTrust
from indwell.bounds.git.entries import GitEntries
from indwell.bounds.git.known_state import GitNote
from indwell.bounds.rules import ReadableFolders
from indwell.bounds.secrets import SecretPlaces
from indwell.errors import SessionError
from indwell.files.private import remove_scratch, scratch_folder
from indwell.navigation.navigator import Navigator
from indwell.navigation.syntax import SyntaxTrees
from indwell.navigation.user_servers import RUNNING, UserServers
from indwell.policy.approvals import Approver
from indwell.policy.rules import Widening, aimless
from indwell.review.ledger import ReviewLedger
from indwell.sandbox.confinement import Strength
from indwell.sandbox.shells import prefer_shell
from indwell.secrets import Secrecy
from indwell.sessions.ids import RANDOM_B, new_id
from indwell.sessions.storage.spending import SpendingLedger
from indwell.sessions.storage.store import SessionStore, folder_name
from indwell.sessions.storage.writer import MemoryLog
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder, user_file, worktrees_folder
from indwell.settings.permission_rules import RuleBook
from indwell.settings.values import preset_of
from indwell.tools.commands.bash import Shell
from indwell.wiring.conversation import (
    first_conversation,
    model_notice,
    session_model,
    standing_instructions,
    surroundings_of,
)
from indwell.wiring.features import FeatureInputs, boards_and_features, tools_of
from indwell.wiring.mcp import mcp_inputs
from indwell.wiring.memory_and_questions import companion_of
from indwell.wiring.model import Model, budgets_of
from indwell.wiring.project_files import (
    checks_of,
    hooks_of,
    skill_catalogue_beside,
    skill_catalogue_of,
)
from indwell.wiring.spill import SpillFolder
from indwell.wiring.subagents import find_agents, lines_of, subagents_of
from indwell.workspace.base import Workspace
from indwell.workspace.worktree import home_folder

if TYPE_CHECKING:
    from indwell.review.checkpoints.coverage import Coverage


T = TypeVar("T")


async def taken(take: Callable[[], T], let_go: Callable[[T], Awaitable[None]]) -> T:
    """Acquire a resource in a thread, and release the resource if the caller is cancelled.

    A thread cannot be stopped, so a lock for a cancelled caller would otherwise be held until the
    process ends.

    Raises:
        CancelledError: The caller was cancelled; the resource is released.
    """
    taking = asyncio.ensure_future(asyncio.to_thread(take))
    try:
        return await asyncio.shield(taking)
    except asyncio.CancelledError:
        await asyncio.wait({taking})
        if taking.exception() is None:
            await let_go(taking.result())
        raise


class SessionPlace(NamedTuple):
    """The log and folders of a session; ``notice`` says so if the session is not stored.

    Attributes:
        id: The id of the session.
        log: The log of the session.
        spill: The folder for long texts, which already has ``n_spilled`` texts.
        others: Folders with long texts of other sessions that the conversation refers to.
    """

    id: str
    log: Log
    spill: Path
    n_spilled: int = 0
    notice: str = ""
    others: tuple[Path, ...] = ()


def look_ahead() -> None:
    """Run slow tests of the machine early, such as the test of the sandbox."""
    strength()
    find_agents()


def new_place(store: SessionStore, model: str) -> SessionPlace:
    """Create a log; if the disk fails, create a log in memory, so that work continues (PER-08)."""
    look_ahead()
    now = edges.now()
    try:
        identifier, log = store.create(model=model, now=now)
    except SessionError as error:
        identifier = new_id(now, edges.current().random_bytes("session", RANDOM_B))
        notice = f"this session is not saved, and cannot be resumed later: {error}"
        spill = scratch_folder()
        atexit.register(remove_scratch, spill)
        return SessionPlace(identifier, MemoryLog(), spill, notice=notice)
    return SessionPlace(identifier, log, store.spill(identifier))


def coverage_of(
    workspace: Workspace,
    review: ReviewLedger | None,
    secret: Callable[[], tuple[str, ...]],
    own: tuple[str, ...],
    hide: Callable[[str], str],
) -> Coverage | None:
    """Create what records commands' changes in ``review``; return None if there is no ledger.

    Args:
        workspace: The user's files.
        review: The ledger.
        secret: Returns the absolute paths of secret files; blocks.
        own: Indwell's own folders, absolute.
        hide: Removes secrets from a text.
    """
    if review is None:
        return None
    from indwell.review.checkpoints.coverage import Coverage
    from indwell.review.copies import Copies
    from indwell.review.verdicts import COPIES

    return Coverage(
        workspace,
        review,
        Copies(review.folder / COPIES),
        secret=lambda: (*secret(), *own),
        hide=hide,
    )


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
    """Create a session in a workspace, with a model; a notice says if it cannot be saved."""
    store = SessionStore(state_folder(environment), home_folder(workspace))
    looking = asyncio.get_running_loop().run_in_executor(None, strength)
    place = await taken(lambda: new_place(store, model.name), lambda made: made.log.close())
    try:
        skills = await skill_catalogue_beside(workspace, settings, trust, environment)
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
    # The test takes up to 20 ms once; no prompt waits, so the second turn may report the result.
    looking.add_done_callback(lambda held: _tell_state(session, held))
    session.parts.log.append(session.prefix)
    return session


def _tell_state(session: Session, held: asyncio.Future[Strength]) -> None:
    if not held.cancelled():
        session.notice = "; ".join(filter(None, (session.notice, notice_of(held.result()))))


def make_session(
    place: SessionPlace,
    workspace: Workspace,
    approver: Approver,
    settings: Callable[[], Settings],
    model: Model,
    *,
    environment: Mapping[str, str],
    trust: FolderTrust | None = None,
    review: ReviewLedger | None = None,
    skills: SkillCatalogue | None = None,
    lean: bool | None = None,
) -> Session:
    """Create the parts of a session with an empty conversation.

    Without ``trust``, this function examines the folders, but asks no question. Without ``skills``,
    this function reads the skills. Without ``lean``, the model decides whether the prompt is short.
    """
    lean = bool(model.lean) if lean is None else lean
    now_settings = settings()
    root = workspace.roots[0]
    if trust is None:
        trust = FolderTrust(environment)
        trust.look(workspace.roots, now_settings)
    state = state_folder(environment)
    budgets = budgets_of(now_settings)
    home = home_folder(workspace)
    is_apart = home != root
    rules = RuleBook(state / "permissions" / f"{folder_name(home)}.json")
    secret = SecretPlaces(workspace.roots, lambda: settings().deny)
    prefer_shell(now_settings.command_shell)
    shell = Shell(root, timeout_s=now_settings.command_timeout_s)
    skill_catalogue = skills or skill_catalogue_of(workspace, settings, trust, environment)
    folder = None if isinstance(place.log, MemoryLog) else place.spill.parent
    subagents = subagents_of(settings, workspace.roots, trust, folder)
    companion = companion_of(place.id, approver, settings, home, environment)
    instructions = ProjectInstructions(workspace, settings, trust)
    own = tuple(str(one.resolve()) for one in (state, user_file().parent))
    if not is_apart:
        own = (*own, str(worktrees_folder(environment).resolve()))
    spill_folder = place.spill.resolve()
    readable = ReadableFolders((spill_folder, *place.others))
    bounds = BoundsNow(
        workspace,
        settings,
        trust,
        readable,
        own=own,
        quarantine=state / "quarantine",
        beside=(str(home),) if is_apart else (),
    )
    servers = UserServers(
        RUNNING,
        workspace.roots,
        lambda: settings().language_servers,
        lambda: rules_now().confine(Widening(reads_only=True)),
        lambda: all(map(trust.may_start, workspace.roots)),
    )
    given = FeatureInputs(
        Instructions(instructions.own, instructions.of_folders),
        skill_catalogue,
        subagents,
        lines_of(subagents),
        companion,
        lambda: settings().mode,
        hooks_of(workspace, settings, trust),
        checks_of(workspace, settings, trust),
        Navigator((servers, SyntaxTrees())),
        servers,
        settings,
        ServerTools(
            mcp_inputs(
                workspace,
                settings,
                trust,
                environment,
                board=companion.questions,
                asker=companion.asker,
                session=place.id,
            )
        ),
        bounds.close,
    )
    boards, features = boards_and_features(given)
    tools = tools_of(shell, boards, features, lean=lean)
    secrecy = Secrecy(settings, model.secrets, environment)
    hide = secrecy.hide
    spill = SpillFolder(spill_folder, n_kept=place.n_spilled, hide=hide)
    git = GitEntries(
        lambda: tuple(one.resolve() for one in trust.now(workspace.roots).trusted),
        GitNote(state / "git" / folder_name(root)),
        lambda: any(one.is_covered for one in boards.background.running),
    )
    rules_now = CurrentRules(
        workspace,
        settings,
        granted=rules,
        trust=trust,
        git=git,
        bounds=bounds,
        secret=secret,
        own=own,
        readable=readable,
    )
    parts = Parts(
        model=session_model(model),
        limits=TurnLimits(now_settings.round_limit, budgets, SpendingLedger(state, edges.now)),
        compaction=CompactionChoice(preset_of(now_settings), wish=boards.wish),
        tools=tools,
        workspace=workspace,
        approver=approver,
        rules=rules_now,
        grant=rules.grant,
        log=place.log,
        spill=spill,
        readable=readable,
        surroundings=lambda: surroundings_of(workspace, model.name),
        features=features,
        secrets=secrecy,
        changes=ChangeTracking(
            review, coverage_of(workspace, review, secret.look, own, hide), git, is_apart
        ),
    )
    own_words, cut = standing_instructions(now_settings)
    conversation = first_conversation(place.id, model, tools, own_words, skill_catalogue)
    lost = aimless(rules_of(now_settings), (spec.name for spec in tools.specs))
    told = (rules.problem, companion.memory.problem, place.notice, lost, cut)
    subagents.session = session = Session(
        id=place.id,
        parts=parts,
        conversation=conversation,
        notice=model_notice(model, budgets, *told),
    )
    return session
