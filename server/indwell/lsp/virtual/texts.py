"""The text of each virtual document, made from the host's parts when it is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from indwell.agent.forthcoming import NOTHING, forthcoming
from indwell.context.compaction.presets import PRESETS
from indwell.lsp.context_view import context_of
from indwell.lsp.host import Host
from indwell.lsp.protocol_context import ContextResult
from indwell.lsp.virtual.changes import Changes
from indwell.lsp.virtual.request_text import request_markdown
from indwell.lsp.virtual.transcript_text import transcript_markdown
from indwell.lsp.virtual.uris import Base, Diff, NextRequest, Transcript, Virtual
from indwell.policy.paths import matches_any
from indwell.policy.rules import globs_of
from indwell.review.ledger import ReviewLedger
from indwell.sessions.overview import overview
from indwell.sessions.transcript import transcript


async def text_of(host: Host, document: Virtual) -> str:
    """What the document reads now.

    Raises:
        UserError: It names nothing that may be shown, in plain words.
    """
    match document:
        case Base():
            return await (await _changes(host)).base(document)
        case Diff():
            return await (await _changes(host)).diff(document)
        case NextRequest():
            laid_open = await context_maker(host, is_whole=True)
            return await asyncio.to_thread(lambda: request_markdown(laid_open()))
        case Transcript(session=session):
            return await _transcript(host, session)


async def context_json(host: Host) -> msgspec.Raw:
    """A ``ContextResult`` as JSON: thousands of rows are made and encoded beside the event loop."""
    laid_open = await context_maker(host)
    return await asyncio.to_thread(lambda: msgspec.Raw(msgspec.json.encode(laid_open())))


async def context_maker(host: Host, *, is_whole: bool = False) -> Callable[[], ContextResult]:
    """What makes a ``ContextResult`` of this moment; it takes a while, so in a thread.

    Args:
        host: Whose next request it is.
        is_whole: The rows' previews are the whole texts.
    """
    session, settings = host.sessions.current, host.configuration.settings
    coming = await forthcoming(session) if session else NOTHING
    conversation = session.conversation if session else None
    await host.prompting.look()
    attached, preset = host.prompting.attached(), PRESETS[settings.compaction]
    identifier, health = host.sessions.id, session.health if session else None
    return lambda: context_of(
        identifier,
        conversation,
        attached,
        settings.model,
        preset,
        health=health,
        coming=coming,
        is_whole=is_whole,
    )


async def _transcript(host: Host, session: str) -> str:
    reading = await host.reading(session)

    def worded() -> str:
        turns = transcript(reading.records)
        return transcript_markdown(overview(session, reading), turns, reading.notices)

    return await asyncio.to_thread(worded)


async def ledger_of(host: Host) -> ReviewLedger:
    """The ledger of the workspace."""
    workspace = host.sessions.workspace
    assert workspace is not None
    return await host.backend.review(workspace.roots)


async def _changes(host: Host) -> Changes:
    workspace = host.sessions.workspace
    assert workspace is not None
    settings = host.configuration.settings
    denied = (*settings.deny, *globs_of("read", settings.rules_deny))
    ledger = await ledger_of(host)
    await ledger.refresh()  # a terminal, or another editor, may have answered something
    return Changes(ledger, workspace, lambda name: matches_any(name, denied))
