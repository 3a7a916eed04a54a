"""Creates the first conversation of a session, and switches the model of a session."""

from __future__ import annotations

import asyncio
import platform
from dataclasses import replace
from functools import partial

import msgspec

from indwell import edges
from indwell.agent.core.budget import Budgets
from indwell.agent.core.session import Session
from indwell.agent.core.session_parts import FellBack, SessionModel, has_no_fallback
from indwell.agent.features.skills.feature import SkillCatalogue
from indwell.context.conversation import Config, Conversation, system_block
from indwell.context.request.assemble import without_pictures
from indwell.errors import SettingsError, UserError
from indwell.files.spelling import quoted
from indwell.messages import Usage
from indwell.prompt.instruction_files import FILE_NAME
from indwell.prompt.reminders import LIMIT, Surroundings
from indwell.prompt.system import Machine, system_prompt
from indwell.sandbox.shells import language_title
from indwell.sessions.storage.spending import local_day
from indwell.settings.model import Settings
from indwell.settings.paths import read_user_file, user_file
from indwell.skills.skill import catalogue
from indwell.tools.base import ToolTable
from indwell.wiring.model import Model, unkept
from indwell.workspace.base import Workspace
from indwell.workspace.git.repository import branch_of


async def surroundings_of(workspace: Workspace, model: str) -> Surroundings:
    """Collect the facts for a turn's environment reminder."""
    return Surroundings(
        date=local_day(edges.now()),
        folder=workspace.roots[0].as_posix(),
        branch=await branch_of(workspace),
        model=model,
    )


def this_machine() -> Machine:
    """Describe this machine for the system prompt."""
    return Machine(
        system=f"{platform.system()} {platform.release()}",
        architecture=platform.machine(),
        shell=language_title(),
        python=platform.python_version(),
    )


def first_conversation(
    session: str, model: Model, tools: ToolTable, own_words: str, skill_catalogue: SkillCatalogue
) -> Conversation:
    """Create a conversation without messages.

    Args:
        session: The session's id, for the endpoint's cache.
        model: The model that is called.
        tools: All tools that the model can call.
        own_words: The user's instructions for all sessions.
        skill_catalogue: The skills that the system prompt lists.
    """
    prompt = system_prompt(
        this_machine(), own_words, catalogue(skill_catalogue.known.own), lean=tools.is_lean
    )
    return Conversation(
        config=Config(
            model.name,
            model.window,
            model.max_output,
            cache_key=session,
            takes_pictures=model.pictures,
            effort=model.effort,
            verbosity=model.verbosity,
            cache_life=model.cache_life,
        ),
        system=(system_block(prompt),),
        tools=tools.specs,
    )


def with_model(session: Session, model: Model) -> None:
    """Use another model from the next turn of ``session`` on; the conversation continues."""
    workspace, before = session.parts.workspace, session.parts.model.hang_up
    for secret in model.secrets:
        session.parts.secrets.also_hide(secret)

    async def hang_up() -> None:
        await before()
        await model.hang_up()

    session.parts = replace(
        session.parts,
        model=replace(session_model(model), hang_up=hang_up),
        surroundings=lambda: surroundings_of(workspace, model.name),
    )
    config = msgspec.structs.replace(
        session.conversation.config,
        model=model.name,
        window=model.window,
        max_output=model.max_output,
        takes_pictures=model.pictures,
        effort=model.effort,
        verbosity=model.verbosity,
        cache_life=model.cache_life,
    )
    conversation = session.conversation
    if not model.pictures:
        conversation = without_pictures(conversation)
    session.conversation = msgspec.structs.replace(conversation, config=config)
    other = _PROFILES.get((session.parts.tools.is_lean, bool(model.lean)), "")
    session.notice = model_notice(model, session.parts.limits.budgets, other)


_PROFILES = {
    (True, False): "this session keeps the short prompt and the six tools that it began with; a "
    "new session with this model has all tools",
    (False, True): "this session keeps the long prompt and all tools that it began with; a new "
    "session with this model is lean, which suits it better",
}
"""Notices about a switch between a small and a large model, by whether the new model is small."""


def session_model(model: Model) -> SessionModel:
    """Return the model in the form that a session needs."""
    return SessionModel(
        model.provider,
        model.cost,
        model.rates,
        model.small,
        model.other,
        model.hang_up,
        partial(_fall_back, model) if model.fallback is not None else has_no_fallback,
    )


async def _fall_back(model: Model, session: Session, why: str) -> FellBack:
    """Let the fallback model continue a session's turn; return to ``model`` at the turn's end."""
    assert model.fallback is not None, "there is no fallback"
    conversation = session.conversation
    from indwell.providers.http.faults import without_advice

    try:
        other = await asyncio.to_thread(model.fallback)
    except UserError as error:
        return FellBack(words=f"the fallback cannot be used: {error}")
    if not other.pictures and without_pictures(conversation) is not conversation:
        await other.hang_up()
        return FellBack(  # The fallback model would make the session lose its pictures for good.
            words=f"the fallback {other.name!r} is not used: the conversation has pictures, and "
            "that model is not known to take any; if it does, set `pictures = true` for its "
            "endpoint"
        )
    own, config = session.parts.model, conversation.config
    surroundings = session.parts.surroundings
    with_model(session, other)
    now = session.parts.model

    def step_back() -> None:
        session.parts = replace(
            session.parts,
            model=replace(own, hang_up=now.hang_up),
            surroundings=surroundings,
        )
        session.conversation = msgspec.structs.replace(session.conversation, config=config)

    session.parts = replace(session.parts, model=replace(now, step_back=step_back))
    notice, session.notice = session.notice, ""
    words = (
        f"{without_advice(why)}; this turn goes on with {other.name!r} ({_price_words(other)}) in "
        f"place of {model.name!r} ({_price_words(model)}), which the next turn tries again"
    )
    return FellBack(is_used=True, words=f"{words}; {notice}" if notice else words)


def _price_words(model: Model) -> str:
    """Return the price of a model as a phrase, for prompts of usual length."""
    prices = [
        model.cost(Usage(input=_SAMPLE)),
        model.cost(Usage(output=_SAMPLE)),
    ]
    known = [f"${price * 1_000_000 / _SAMPLE:,.2f}" for price in prices if price is not None]
    if len(known) < len(prices):
        return "price unknown"
    return f"{known[0]} in and {known[1]} out for a million tokens"


_SAMPLE = 1_000  # The unit is tokens; longer prompts have a higher price at some endpoints.


def model_notice(model: Model, budgets: Budgets, *more: str) -> str:
    """Return a notice about the model and its price, with ``more`` at the end."""
    return "; ".join(filter(None, (model.notice, unkept(budgets, model.name, model.cost), *more)))


def standing_instructions(settings: Settings) -> tuple[str, str]:
    """Return the user's own instructions from settings and AGENTS.md, with problems."""
    path = user_file().parent / FILE_NAME
    try:
        text = (read_user_file(path) or "").strip().removeprefix("\N{BYTE ORDER MARK}")
    except SettingsError as error:
        return settings.instructions, f"your own {FILE_NAME} is left out: {error}"
    problem = ""
    if len(text) > LIMIT:
        problem = (
            f"{quoted(path)} has {len(text):,} characters, of which the first {LIMIT:,} go to the "
            "model; shorten it"
        )
    return "\n\n".join(filter(None, (settings.instructions.strip(), text[:LIMIT]))), problem
