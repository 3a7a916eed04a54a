"""The composition root of a session: settings in, parts out. Only here are concrete parts named."""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from indwell.agent.session import Parts, Session
from indwell.context.conversation import Config, Conversation, system_block
from indwell.errors import SessionError, SettingsError, ToolError
from indwell.files import write_private
from indwell.messages import Usage
from indwell.policy.approvals import Approver
from indwell.policy.decide import Policy
from indwell.policy.paths import is_beneath, matches_any
from indwell.prompt.environment import Surroundings
from indwell.prompt.instructions import FILE_NAME
from indwell.prompt.system import Machine, system_prompt
from indwell.providers.base import Provider
from indwell.sessions.store import SessionStore, folder_name
from indwell.settings.load import Loaded, lacking, load
from indwell.settings.model import Settings
from indwell.settings.places import (
    read_user_file,
    state_folder,
    trusted_folders,
    user_file,
)
from indwell.settings.rules import RuleBook
from indwell.tools.bash import Shell
from indwell.tools.table import standard_tools
from indwell.workspace.base import Workspace
from indwell.workspace.branch import branch_of
from indwell.workspace.paths import display

SCRIPTED_WINDOW = 64_000  # tokens; the scripted model has no limit of its own


class Model(NamedTuple):
    """A model, ready to be asked, with what is known of it; ``notice`` if that is not much."""

    provider: Provider
    name: str
    window: int
    max_output: int
    cost: Callable[[Usage], float | None]
    notice: str = ""


def read_settings(
    environment: Mapping[str, str],
    *,
    roots: tuple[Path, ...] = (),
    options: Mapping[str, object] | None = None,
) -> Loaded:
    """Read all sources of settings.

    Raises:
        SettingsError: The user's own file cannot be used.
    """
    path = user_file()
    text = read_user_file(path)
    users = load(environment, text, str(path), None, None).settings
    workspace_text = None
    if roots and is_trusted(roots[0], users):
        workspace_text = _read_text(roots[0] / ".indwell" / "config.toml")
    return load(environment, text, str(path), options, workspace_text)


def is_trusted(root: Path, settings: Settings) -> bool:
    """Did the user name this folder, or one above it, in ``trusted``?"""
    return any(
        root.resolve().is_relative_to(folder) for folder in trusted_folders(settings.trusted)
    )


def make_model(settings: Settings, *, pace_s: float = 0.0) -> Model:
    """The model that the settings name.

    Raises:
        UserError: None is chosen, or its key is missing; says what to do.
    """
    if settings.provider == "scripted":
        from indwell.demo.model import NAME, answer
        from indwell.providers.scripted import ScriptedProvider

        provider: Provider = ScriptedProvider(answer, pace_s=pace_s)
        return Model(provider, NAME, SCRIPTED_WINDOW, 4_096, lambda _usage: 0.0)
    problem = lacking(settings, str(user_file()))
    if problem:
        raise SettingsError(problem)
    return _endpoint_model(settings)


def _endpoint_model(settings: Settings) -> Model:
    from indwell.providers.chat_messages import dialect_for
    from indwell.providers.facts import facts_for
    from indwell.providers.openai_chat import OpenAIChat
    from indwell.providers.pricing import Prices, Rates, cost
    from indwell.providers.retry import Retrying

    facts = facts_for(settings.model, settings.base_url, now=datetime.now(UTC))
    prices = facts.prices
    if settings.price_in is not None and settings.price_out is not None:
        rates = Rates(
            input=settings.price_in,
            cached=settings.price_in,
            cache_write=settings.price_in,
            output=settings.price_out,
        )
        prices = Prices(rates=rates)
    window = settings.window or facts.window
    key = settings.api_key.reveal() if settings.api_key else None
    dialect = dialect_for(settings.base_url, settings.model)
    if settings.cache_marks:
        dialect = msgspec.structs.replace(dialect, cache_marks=True)
    chat = OpenAIChat(
        base_url=settings.base_url,
        api_key=key,
        timeout_s=settings.stall_timeout_s,
        dialect=dialect,
    )
    notice = ""
    if not facts.known and settings.window is None:
        notice = (
            f"the window of {settings.model!r} is not known; {window:,} tokens are assumed, and "
            "`window` in the settings says otherwise"
        )
    return Model(
        Retrying(chat),
        settings.model,
        window,
        min(settings.max_output, window // 4),
        lambda usage: cost(usage, prices),
        notice,
    )


async def open_session(
    workspace: Workspace,
    approver: Approver,
    settings: Callable[[], Settings],
    *,
    environment: Mapping[str, str],
    pace_s: float = 0.0,
) -> Session:
    """Begin a session in a workspace.

    Raises:
        UserError: No usable model, or no place for the log.
    """
    now_settings = settings()
    model = await asyncio.to_thread(make_model, now_settings, pace_s=pace_s)
    root = workspace.roots[0]
    state = state_folder(environment)
    store = SessionStore(state, root)
    identifier, log = await asyncio.to_thread(
        lambda: store.create(model=model.name, now=datetime.now(UTC))
    )
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
    )
    prompt = system_prompt(
        _machine(), tuple(spec.name for spec in tools.specs), now_settings.instructions
    )
    conversation = Conversation(
        config=Config(model.name, model.window, model.max_output, cache_key=identifier),
        system=(system_block(prompt),),
        tools=tools.specs,
    )
    return Session(id=identifier, parts=parts, conversation=conversation, notice=model.notice)


class Spill:
    """Keeps texts that are cut for the model, numbered, in a session's own folder.

    Args:
        folder: Private, exists.

    Raises:
        SessionError: From ``keep``, when the disk does not take a text.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._n_kept = 0

    async def keep(self, name: str, text: str) -> Path:
        """Write a text; gives where it stands. ``name`` says what it is, for people."""
        self._n_kept += 1
        plain = "".join(one if one.isalnum() or one in "-_." else "-" for one in name)[:60]
        suffix = "" if "." in plain else ".txt"
        path = self._folder / f"{self._n_kept:04d}-{plain}{suffix}"
        data = text.encode("utf-8", "replace")
        try:
            return await asyncio.to_thread(write_private, path, data)
        except OSError as error:
            raise SessionError(
                f"a long text could not be kept in {str(self._folder)!r} ({error.strerror}); make "
                "room there and try again"
            ) from error


async def _surroundings(workspace: Workspace, model: str) -> Surroundings:
    return Surroundings(
        date=datetime.now(UTC).astimezone().date().isoformat(),
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


def _read_text(path: Path) -> str | None:
    from indwell.files import read_bytes

    try:
        return read_bytes(path, [path.parent.parent], 1 << 20).decode("utf-8", "replace")
    except ToolError:
        return None
