"""The composition root of a session: settings in, parts out. Only here are concrete parts named."""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

import msgspec

from indwell.agent.budget import Budgets
from indwell.agent.session import Parts, Session
from indwell.cli.budgets import budgets_of, unkept
from indwell.cli.chosen_model import Model
from indwell.cli.spill import Spill
from indwell.cli.user_settings import is_trusted
from indwell.context.conversation import Config, Conversation, system_block
from indwell.errors import ToolError
from indwell.policy.approvals import Approver
from indwell.policy.decide import Policy
from indwell.policy.paths import is_beneath, matches_any
from indwell.prompt.environment import Surroundings
from indwell.prompt.instructions import FILE_NAME
from indwell.prompt.system import Machine, system_prompt
from indwell.sessions.spending import SpendingLedger, local_day
from indwell.sessions.store import SessionStore, folder_name
from indwell.settings.model import Settings
from indwell.settings.places import state_folder, user_file
from indwell.settings.rules import RuleBook
from indwell.tools.bash import Shell
from indwell.tools.table import standard_tools
from indwell.workspace.base import Workspace
from indwell.workspace.branch import branch_of
from indwell.workspace.paths import display


async def open_session(
    workspace: Workspace,
    approver: Approver,
    settings: Callable[[], Settings],
    model: Model,
    *,
    environment: Mapping[str, str],
) -> Session:
    """Begin a session in a workspace, with a model.

    Raises:
        UserError: There is no place for the log.
    """
    now_settings = settings()
    root = workspace.roots[0]
    state = state_folder(environment)
    store = SessionStore(state, root)
    identifier, log = await asyncio.to_thread(
        lambda: store.create(model=model.name, now=datetime.now(UTC))
    )
    budgets = budgets_of(now_settings)
    rules = RuleBook(state / "permissions" / f"{folder_name(root)}.json")
    tools = standard_tools(Shell(root, timeout_s=now_settings.command_timeout_s))
    spill_folder = store.spill(identifier).resolve()
    own = (str(state.resolve()), str(user_file().parent.resolve()))
    parts = Parts(
        provider=model.provider,
        tools=tools,
        workspace=workspace,
        approver=approver,
        policy=lambda: Policy(
            settings().mode, settings().deny, rules.granted, own, (str(spill_folder),)
        ),
        grant=rules.grant,
        log=log,
        spill=Spill(spill_folder).keep,
        read_roots=(spill_folder,),
        hidden=lambda path: matches_any(path, settings().deny) or is_beneath(str(root / path), own),
        surroundings=lambda: _surroundings(workspace, model.name),
        instructions=lambda: _instructions(workspace, settings()),
        cost=model.cost,
        now=lambda: datetime.now(UTC),
        monotonic=time.monotonic,
        round_limit=now_settings.round_limit,
        budgets=budgets,
        ledger=SpendingLedger(state, lambda: datetime.now(UTC)),
        hang_up=model.hang_up,
    )
    prompt = system_prompt(
        _machine(), tuple(spec.name for spec in tools.specs), now_settings.instructions
    )
    conversation = Conversation(
        config=Config(model.name, model.window, model.max_output, cache_key=identifier),
        system=(system_block(prompt),),
        tools=tools.specs,
    )
    return Session(
        id=identifier,
        parts=parts,
        conversation=conversation,
        notice=_notice(model, budgets, rules.problem),
    )


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
        surroundings=lambda: _surroundings(workspace, model.name),
    )
    config = msgspec.structs.replace(
        session.conversation.config,
        model=model.name,
        window=model.window,
        max_output=model.max_output,
    )
    session.conversation = msgspec.structs.replace(session.conversation, config=config)
    session.notice = _notice(model, session.parts.budgets)


def _notice(model: Model, budgets: Budgets, more: str = "") -> str:
    return "; ".join(filter(None, (model.notice, unkept(budgets, model.name, model.cost), more)))


async def _surroundings(workspace: Workspace, model: str) -> Surroundings:
    return Surroundings(
        date=local_day(datetime.now(UTC)),
        folder=str(workspace.roots[0]),
        branch=await branch_of(workspace),
        model=model,
    )


async def _instructions(workspace: Workspace, settings: Settings) -> str:
    """AGENTS.md of a trusted folder; of any other folder nothing is read (H13)."""
    if not is_trusted(workspace.roots[0], settings):
        return ""
    try:
        path = workspace.resolve(FILE_NAME)
        if matches_any(display(path, workspace.roots), settings.deny):
            return ""
        return (await workspace.read(path)).text
    except ToolError:
        return ""


def _machine() -> Machine:
    return Machine(  # noqa: S604 - `shell` is a word for the prompt, nothing is run
        system=f"{platform.system()} {platform.release()}",
        architecture=platform.machine(),
        shell="bash",
        python=platform.python_version(),
    )
