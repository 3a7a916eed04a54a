"""Resumes a session from its log, with its model, prefix, texts and totals."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from indwell import edges
from indwell.agent.core.session import Resumed, Session
from indwell.agent.restore import (
    REMINDER,
    TAKEN_BACK,
    Past,
    outcomes,
    past_of,
    recalled,
    unknown_words,
)
from indwell.bounds.folder_trust import FolderTrust
from indwell.context import conversation as talk
from indwell.context.conversation import counted
from indwell.context.injections import inject
from indwell.context.request.assemble import without_pictures
from indwell.errors import SessionError, UserError
from indwell.files.spelling import quoted
from indwell.messages import Message, ToolResult
from indwell.policy.approvals import Approver
from indwell.review.ledger import ReviewLedger
from indwell.service.sessions.inherited_task import take_again
from indwell.service.sessions.stored_sessions import uncollected
from indwell.sessions.branches import lived
from indwell.sessions.forking import check_whole, spill_owners
from indwell.sessions.log_lines import LogReading
from indwell.sessions.records import (
    ENDED,
    MessageRecord,
    Repaired,
    TurnEndRecord,
    repairs,
    tools_digest,
)
from indwell.sessions.storage.store import SessionStore
from indwell.sessions.storage.writer import LogWriter
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder
from indwell.skills.skill import without_catalogue
from indwell.tools.base import ToolTable
from indwell.tools.editing.lost_edits import looked_up
from indwell.wiring.compose import SessionPlace, look_ahead, make_session, taken
from indwell.wiring.features import ORDER
from indwell.wiring.model import Model
from indwell.wiring.project_files import skill_catalogue_beside
from indwell.wiring.spill import highest_number
from indwell.workspace.base import Workspace
from indwell.workspace.worktree import home_folder

NEW_TOOLS = (
    "Indwell's tools have changed since this session began, so its next call cannot use the "
    "provider's cache"
)
OLD_PROMPT = (
    "this session keeps its original system prompt, which is out of date (Indwell, its settings "
    "or the machine changed since); begin a new session to use the current one"
)


async def resume_session(
    identifier: str,
    workspace: Workspace,
    approver: Approver,
    settings: Callable[[], Settings],
    model: Model,
    *,
    environment: Mapping[str, str],
    trust: FolderTrust | None = None,
    review: ReviewLedger | None = None,
) -> Resumed:
    """Resume a session at the end of its log; no finished action is repeated.

    Raises:
        SessionError: The session does not exist, is open in another process, or cannot be written.
    """
    store = SessionStore(state_folder(environment), home_folder(workspace))
    with uncollected():
        reading, log = await _opened(store, identifier)
    try:
        past = await asyncio.to_thread(past_of, reading.records, is_damaged=bool(reading.damage))
        begun = [call.use for call in past.open_calls if call.begun]
        found = {use.id: await looked_up(use, workspace) for use in begun}
        await asyncio.to_thread(check_whole, identifier, reading.records)
        owners = await asyncio.to_thread(spill_owners, reading.records)
        others = tuple(store.spill(one).resolve() for one in owners)
        spill = store.spill(identifier)
        n_spilled = await asyncio.to_thread(_n_spilled, spill)
        place = SessionPlace(identifier, log, spill, n_spilled, others=others)
        await asyncio.to_thread(look_ahead)
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
            lean=_is_lean(past),
        )
        is_known = _has_our_tools(past, session.parts.tools)
        answers = outcomes(past.open_calls, found)
        present = session.prefix.system
        session.conversation = await asyncio.to_thread(
            _continued, session.conversation, past, answers, is_known=is_known
        )
        _write_down(session, past, answers, is_known=is_known)
    except BaseException:
        await log.close()
        raise
    session.endings.is_outgrown = past.is_outgrown
    session.endings.is_interrupted = past.is_interrupted or (past.is_broken_off and not past.draft)
    session.turns, session.spending.usage = past.turns, past.usage
    session.spending.cost, session.spending.spent = past.cost, past.spent
    session.spending.last_usage, session.spending.requests = past.last_usage, past.requests
    session.titles.given, session.titles.own = past.title, past.own_title
    features, records = session.parts.features, reading.records
    features.restore(await asyncio.to_thread(features.read, lived(records), records))
    told = await asyncio.to_thread(recalled, reading.records, edges.now())
    session.remember(told.health, told.calibration, told.answered_at)
    notices = [*reading.notices, unknown_words(past.open_calls), *past.notes]
    if past.prefix is not None and not is_known:
        notices.append(NEW_TOOLS)
    elif past.prefix is not None and _but_skills(past.prefix.system) != _but_skills(present):
        notices.append(OLD_PROMPT)
    if past.origin:
        notices.append(await _taken_again(session, store, past.origin))
    shown = tuple(filter(None, notices))
    session.notice = "; ".join(filter(None, (session.notice, *shown)))
    return Resumed(session, past.draft, shown)


async def _taken_again(session: Session, store: SessionStore, origin: str) -> str:
    """Pass an inherited task on again; return a reason if the task's session no longer exists."""
    try:
        await take_again(session, store, origin)
    except UserError as error:
        return f"the task of session {origin} is no longer carried over: {error}"
    return ""


def _but_skills(system: tuple[str, ...]) -> tuple[str, ...]:
    """Return the system prompt without its list of skills; the next request reports changes."""
    return tuple(map(without_catalogue, system))


async def _opened(store: SessionStore, identifier: str) -> tuple[LogReading, LogWriter]:
    now = edges.now()
    return await taken(lambda: store.resume(identifier, now=now), lambda opened: opened[1].close())


def _continued(
    empty: talk.Conversation, past: Past, answers: Sequence[ToolResult], *, is_known: bool
) -> talk.Conversation:
    """Restore the conversation, and add the missing results; takes a while."""
    messages = past.messages
    if answers:
        messages += (Message("user", tuple(answers), messages[-1].turn),)
    config = empty.config
    if past.cache_key:  # A fork uses the provider's cache of its original session.
        config = msgspec.structs.replace(config, cache_key=past.cache_key)
    now = msgspec.structs.replace(empty, config=config, messages=messages, history=past.history)
    if is_known and past.prefix is not None:
        now = msgspec.structs.replace(
            now,
            system=tuple(map(talk.system_block, past.prefix.system)),
            tools=past.prefix.specs or now.tools,
        )
    if not now.config.takes_pictures:
        now = without_pictures(now)
    now = counted(now)  # Counting comes first, so that later steps count no message twice.
    if messages:
        words = TAKEN_BACK if past.is_taken_back else REMINDER
        now = talk.queue(now, (inject("reminder", words, turn=past.turns + 1),))
    return now


def _is_lean(past: Past) -> bool | None:
    """Return whether the session began with a small model's tools, or None if unknown."""
    specs = () if past.prefix is None else past.prefix.specs
    return set(ORDER).isdisjoint(one.name for one in specs) if specs else None


def _has_our_tools(past: Past, table: ToolTable) -> bool:
    """Return whether the session's requests had today's fixed tools, so that it can continue.

    Tools that come and go during a session (deferred tools) may differ, because the next request
    reports new and missing tools to the model.
    """
    if past.prefix is None:
        return False
    if not past.prefix.specs:  # An older log has only a digest.
        return past.prefix.tools == tools_digest(table.specs)
    return past.prefix.specs[: len(table.fixed)] == table.fixed


def _write_down(
    session: Session, past: Past, answers: Sequence[ToolResult], *, is_known: bool
) -> None:
    """Log the repairs, so that the next resume restores the same conversation."""
    log, at = session.parts.log, session.timestamp()
    if not is_known or (past.prefix is not None and not past.prefix.specs):
        log.append(session.prefix)
    for record in repairs(past.notes, past.splices, past.n_live, at=at):
        log.append(record)
    if answers:
        turn = past.messages[-1].turn
        log.append(MessageRecord(Message("user", tuple(answers), turn), at))
        log.append(Repaired(f"{len(answers)} call(s) without a result were answered", at))
    if past.is_broken_off:
        log.append(TurnEndRecord(past.turns, "interrupted", at, ENDED, past.draft))


def _n_spilled(spill: Path) -> int:
    try:
        return highest_number(spill)
    except OSError as error:
        raise SessionError(
            f"the long texts of the session cannot be listed ({error.strerror}); check "
            f"{quoted(spill)}"
        ) from error
