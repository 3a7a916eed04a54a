"""Creates the texts of virtual documents, and describes the next request."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import msgspec

from indwell.agent.requests.request_blocks import NOTHING, Forthcoming, forthcoming
from indwell.context.compaction.presets import Preset
from indwell.context.conversation import Conversation, queue, with_input
from indwell.context.injections import inject
from indwell.context.request.cache_health import Health, named
from indwell.context.request.explain import EXCERPT, BlockFacts, explain
from indwell.context.request.window_parts import window_parts
from indwell.context.tokens import estimate_tokens
from indwell.context.untrusted_text import one_line, visible
from indwell.errors import ToolError, UserError
from indwell.files.contents.reading import read_bytes
from indwell.files.listing import exists
from indwell.lsp.host import Host
from indwell.lsp.messages.context import (
    AttachedRow,
    BlockRow,
    ContextResult,
    HeadroomRow,
    HealthRow,
    WindowPartRow,
)
from indwell.lsp.prompts.prompt_builder import PromptAttachments, opened_id, selection_id, words_of
from indwell.lsp.virtual.markdown import request_markdown, transcript_markdown
from indwell.lsp.virtual.uris import Base, ChangeSpan, Diff, NextRequest, Transcript, Virtual
from indwell.messages import Text
from indwell.policy.paths import matches_any
from indwell.policy.rules import globs_of
from indwell.review.hunk import Hunk
from indwell.review.ledger import ReviewLedger
from indwell.service.sessions.recorded_turns import events_of
from indwell.sessions.overview import overview
from indwell.settings.values import preset_of
from indwell.workspace.base import Workspace
from indwell.workspace.comparing.diff import unified_diff
from indwell.workspace.encoding.notebook import SUFFIX, with_cells
from indwell.workspace.large import LARGE_B
from indwell.workspace.paths import display


def context_of(
    session: str | None,
    conversation: Conversation | None,
    attached: PromptAttachments,
    model: str,
    preset: Preset,
    *,
    health: Health | None = None,
    coming: Forthcoming = NOTHING,
    is_whole: bool = False,
) -> ContextResult:
    """List the parts of the next request; call this function in a thread.

    Args:
        session: The session's id, or None before the first turn, when only attachments are known.
        conversation: The session's conversation.
        attached: The contents of the next prompt besides the user's text.
        model: The model of the next turn.
        preset: The compaction preset in force.
        health: The statistics of the session, or None before the first turn.
        coming: The reminders of the next request.
        is_whole: Whether the rows contain complete texts instead of previews.
    """
    rows = attached_rows(attached)
    if conversation is None:
        used = sum(row.tokens for row in rows)
        return ContextResult(
            session, model, None, None, used, None, preset.name, (), {}, {}, (), rows, None
        )
    blocks = (*coming.before, *_blocks(attached), *coming.behind)
    queued = queue(conversation, blocks)
    next_ = with_input(queued, words=None, turn=0)
    n_shown = None if is_whole else EXCERPT
    told = explain(next_, preset, n_waiting=len(queued.pending), n_characters=n_shown)
    config = next_.config
    share = round(told.tokens / config.budget, 4) if config.budget > 0 else None
    return ContextResult(
        session=session,
        model=model,
        window=config.window,
        budget=config.budget,
        used=told.tokens,
        share=share,
        preset=preset.label,
        headroom=tuple(
            HeadroomRow(layer=one.layer, at=one.at, left=one.left, pays=one.pays)
            for one in told.headroom
        ),
        sources=told.by_source,
        tiers=told.by_tier,
        blocks=tuple(map(_row, told.blocks)),
        attached=rows,
        health=_health(health) if health else None,
        parts=tuple(
            WindowPartRow(name=one.name, tokens=one.tokens, share=one.share, limit=one.limit)
            for one in window_parts(next_)
        ),
    )


def attached_rows(attached: PromptAttachments) -> tuple[AttachedRow, ...]:
    """Return the next prompt's attachments with the ids for detaching them."""
    opened, marked = attached.opened, attached.selection
    opened_text, marked_text = words_of(attached)
    rows = []
    if marked is not None:
        label = f"{marked.path}:{marked.first_line}-{marked.last_line}"
        tokens = estimate_tokens(marked_text)
        rows.append(AttachedRow(selection_id(marked), "selection", label, tokens))
    if opened is not None:
        tokens = estimate_tokens(opened_text)
        rows.append(AttachedRow(opened_id(opened), "opened", opened.path, tokens))
    return tuple(rows)


def _blocks(attached: PromptAttachments) -> Sequence[Text]:
    opened, marked = words_of(attached)
    found = [inject("ide_opened_file", opened, turn=0)] if opened else []
    return [*found, inject("ide_selection", marked, turn=0)] if marked else found


def _health(health: Health) -> HealthRow:
    return HealthRow(named(health.turn), named(health.session), health.misses)


def _row(block: BlockFacts) -> BlockRow:
    return BlockRow(
        message=block.message,
        role=block.role,
        kind=block.kind,
        source=block.source,
        tier=block.tier,
        tokens=block.tokens,
        turn=block.turn,
        pinned=block.pinned,
        compactable=block.compactable,
        anchor=block.anchor,
        state=block.state,
        altered=block.altered,
        first=block.first,
        last=block.last,
        why=block.why,
        preview=block.excerpt,
    )


Key = TypeVar("Key")
Made = TypeVar("Made")


class _Making(NamedTuple, Generic[Made]):
    begun: asyncio.Event
    task: asyncio.Task[Made]


class Shared(Generic[Key, Made]):
    """Shares newly created values between callers; each value was created after the call.

    A caller that arrives while a value is created gets the next value, because the first may miss
    the caller's change.

    Args:
        make: Creates a value; all callers that share it receive its error.
    """

    def __init__(self, make: Callable[[Key], Awaitable[Made]]) -> None:
        self._make = make
        self._last: dict[Key, _Making[Made]] = {}

    async def of(self, key: Key) -> Made:
        """Return a value that was created after this call."""
        last = self._last.get(key)
        if last is None or last.begun.is_set():
            begun = asyncio.Event()
            before = last.task if last is not None else None
            task = asyncio.create_task(self._made(key, begun, before))
            last = self._last[key] = _Making(begun, task)
            task.add_done_callback(lambda done: self._forget(key, done))
        return await asyncio.shield(last.task)  # a cancelled caller must not cancel the others

    async def _made(
        self, key: Key, begun: asyncio.Event, before: asyncio.Task[Made] | None
    ) -> Made:
        if before is not None:
            await asyncio.wait({before})
        begun.set()
        return await self._make(key)

    def _forget(self, key: Key, done: asyncio.Task[Made]) -> None:
        last = self._last.get(key)
        if last is not None and last.task is done:
            del self._last[key]
        if not done.cancelled():
            done.exception()  # the callers have received the error already


MOST_CHARACTERS = 4_000_000  # the limit of characters for a diff of many files


class Changes:
    """Finds changes; every path is checked against the workspace and the user's deny rules.

    Args:
        ledger: The ledger of the workspace.
        workspace: The user's files, with open buffers.
        is_denied: Returns whether a rule denies a file, by its displayed name.
    """

    def __init__(
        self, ledger: ReviewLedger, workspace: Workspace, is_denied: Callable[[str], bool]
    ) -> None:
        self._ledger = ledger
        self._workspace = workspace
        self._is_denied = is_denied

    async def base(self, document: Base) -> str:
        """Return a file's text without pending changes, or before a turn; a new file has no text.

        Raises:
            UserError: The file may not be shown, or the agent changed nothing in it.
        """
        path, span = self._path(document.path), document.span
        await self._now(path)
        text = self._base(path, span)
        if path.suffix == SUFFIX:
            return await asyncio.to_thread(_as_on_disk, path, self._workspace.roots, text)
        return text

    def _base(self, path: Path, span: ChangeSpan) -> str:
        if span.turn:
            before = self._ledger.before(path, span.session, span.turn)
        elif span.session:
            return self._without(path, self._of(path, span)) or ""
        else:
            before = self._ledger.base(path)
        return before or ""

    async def diff(self, document: Diff) -> str:
        """Return pending changes as a unified diff by file, or a sentence if there are no changes.

        Raises:
            UserError: The named file may not be shown, or the agent did not change it.
        """
        one = self._path(document.path) if document.path else None
        pieces, size = [], 0
        for path in (one,) if one else self._ledger.paths():
            shown = display(path, self._workspace.roots)
            if self._is_denied(shown):
                pieces.append(f"# {shown}: not shown, a deny rule names it\n")
                continue
            if size > MOST_CHARACTERS:
                pieces.append(f"# {shown}: not shown, the document would be too long\n")
                continue
            piece = await self._diff(path, shown, document.span)
            pieces.append(piece)
            size += len(piece)
        return "".join(pieces) or "# Nothing is pending.\n"

    async def _diff(self, path: Path, shown: str, span: ChangeSpan) -> str:
        try:
            now, problem = await self._now(path), ""
        except UserError as error:
            now, problem = None, str(error)
        hunks = self._of(path, span)
        opaque = [one for one in hunks if one.kind == "opaque"]
        words = "".join(f"# {shown}: {one_line(one.note)}\n" for one in opaque)
        if len(opaque) == len(hunks):
            return words
        if problem:
            return f"{words}# {shown}: {one_line(problem)}\n"
        return words + await asyncio.to_thread(_worded, self._without(path, hunks), now, shown)

    def _without(self, path: Path, hunks: Sequence[Hunk]) -> str | None:
        """Return the text of the file without the changes in these hunks."""
        return self._ledger.rejection(path, tuple(one.id for one in hunks), force=True).text

    def _of(self, path: Path, span: ChangeSpan) -> tuple[Hunk, ...]:
        """Return the pending hunks of a file within the span."""
        return tuple(hunk for hunk in self._ledger.hunks(path) if is_of(hunk, span))

    async def _now(self, path: Path) -> str | None:
        """Read a file, and give its text to the ledger; return None if the file does not exist."""
        text: str | None = None
        try:
            text = (await self._workspace.read(path)).text
        except ToolError as error:
            if exists(path):
                raise UserError(str(error)) from error
        await self._ledger.synced(path, text)
        return text

    def _path(self, written: str) -> Path:
        """Return the file that a URI names.

        Raises:
            UserError: The file is outside the workspace, may not be shown, or has no changes.
        """
        try:
            path = self._workspace.resolve(written)
        except ToolError as error:
            raise UserError(str(error)) from error
        shown = display(path, self._workspace.roots)
        if self._is_denied(shown) or self._is_denied(visible(written)):
            raise UserError(f"{shown!r} is not shown, because a deny rule names it")
        if path not in self._ledger.known():
            raise UserError(f"the agent has changed nothing in {shown!r} that is still known")
        return path


def _as_on_disk(path: Path, roots: Sequence[Path], text: str) -> str:
    """Return a notebook's JSON with these cells, which editors compare with the file."""
    try:
        return with_cells(read_bytes(path, roots, LARGE_B).decode("utf-8"), text)
    except (ToolError, ValueError):  # without a notebook file, the text itself is returned
        return text


def _worded(before: str | None, now: str | None, shown: str) -> str:
    """Return a diff in which control characters are visible; call the function in a thread."""
    return visible(unified_diff(before, now, shown).replace("\r\n", "\n"))


def is_of(hunk: Hunk, span: ChangeSpan) -> bool:
    """Return whether the session and turn of ``span`` made changes in a hunk.

    Without a session, the result is True.
    """
    if not span.session:
        return True
    return any(one.session == span.session and span.turn in {0, one.turn} for one in hunk.actors)


async def text_of(host: Host, document: Virtual) -> str:
    """Return the present text of a virtual document.

    Raises:
        UserError: The document does not exist, or may not be shown.
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


async def context_json(host: Host, wanted: str | None = None) -> msgspec.Raw:
    """Return a ``ContextResult`` as JSON, which is created and encoded in a thread."""
    laid_open = await context_maker(host, wanted)
    return await asyncio.to_thread(lambda: msgspec.Raw(msgspec.json.encode(laid_open())))


async def context_maker(
    host: Host, wanted: str | None = None, *, is_whole: bool = False
) -> Callable[[], ContextResult]:
    """Return a function that creates a ``ContextResult`` of this moment, to run in a thread.

    Args:
        host: The server whose next request is described.
        wanted: The session's id, or None for the current session.
        is_whole: Whether the rows contain complete texts instead of previews.
    """
    session = host.sessions.current if wanted is None else host.sessions.find(wanted)
    own = host.sessions.settings_of(session) if session is not None else None
    settings = host.service.configuration.settings if own is None else own.between_turns
    coming = await forthcoming(session) if session else NOTHING
    conversation = session.conversation if session else None
    await host.prompting.look()
    attached, preset = host.prompting.attached(), preset_of(settings)
    identifier, health = (session.id, session.health) if session else (None, None)
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
    reading = await host.service.reading(session)

    def worded() -> str:
        turns = events_of(reading.records)
        return transcript_markdown(overview(session, reading), turns, reading.notices)

    return await asyncio.to_thread(worded)


async def ledger_of(host: Host) -> ReviewLedger:
    """Return the ledger of the workspace."""
    workspace = host.sessions.workspace
    assert workspace is not None
    return await host.review.ready()


async def _changes(host: Host) -> Changes:
    workspace = host.sessions.workspace
    assert workspace is not None
    settings = host.service.configuration.settings
    denied = (*settings.deny, *globs_of("read", settings.rules_deny))
    ledger = await ledger_of(host)
    await ledger.refresh()  # a terminal or another editor may have recorded verdicts
    return Changes(ledger, workspace, lambda name: matches_any(name, denied))
