"""Opens chats, and sends a draft as a prompt, as a steering message or as a command.

If an editor supports it, the server registers only for ``*.chat.md``. Otherwise the server returns
empty answers for other documents.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import Any

import msgspec

from indwell.context.attachments import STATE_MENTIONS
from indwell.context.request.window_parts import part_words, window_parts
from indwell.errors import EditRefused, SessionError, ToolError, UserError
from indwell.files.listing import exists
from indwell.lsp.chat import layout
from indwell.lsp.chat import layout as moving
from indwell.lsp.chat.chats import Chats, SentWords, Steering
from indwell.lsp.chat.completion import EFFORT_WORDS, ChatCommand, command_of
from indwell.lsp.chat.drafts import BeingSent
from indwell.lsp.chat.layout import TextSplice, edited
from indwell.lsp.chat.markdown import quoted
from indwell.lsp.chat.opening import QuestionPlace, opened
from indwell.lsp.chat.views import ChatViews, names_of
from indwell.lsp.host import Host
from indwell.lsp.messages import answers
from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages.documents import ChatArguments, ChatResult, SendArguments
from indwell.lsp.messages.features import CHAT_FEATURES, CHAT_OPTIONS
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.wire import sync
from indwell.lsp.wire.language_server import Server
from indwell.lsp.workspace.documents import Document
from indwell.messages import Effort
from indwell.service.mentions import MOST, PATTERN, Mention, attachments, is_chat, mentions_in
from indwell.service.turns.queue import Ticket
from indwell.workspace.base import Workspace

ANEW = "Begin a new session"
OPENING_S = 2.0  # the time limit, in seconds, for a chat's first turn to open its session


def rest_of(draft: str, taken: Sequence[str]) -> str:
    """Return the new text of a draft.

    Args:
        draft: The whole draft, without blanks at its ends.
        taken: The texts that were already sent, in order. Texts that the draft lacks are ignored.
    """
    at = 0
    for words in taken:
        begin = at
        while begin < len(draft) and draft[begin].isspace():
            begin += 1
        if draft.startswith(words, begin):
            at = begin + len(words)
    return draft[at:].strip()


async def send(host: Host, chats: Chats, arguments: SendArguments) -> object:
    """Send the draft; return the turn that began, or the queued prompt.

    Raises:
        UserError: The draft cannot be sent and stays unchanged; the message says why.
    """
    document = chats.document(arguments.uri)
    chats.asking.check_free(document)
    async with chats.locks[document.uri]:
        done = await _taken(host, chats, document, arguments)
    if not isinstance(done, Ticket):
        return done
    if done.waiting not in host.turns.queue.waiting:
        await done.begun.wait()
    return answers.started(done) if done.error is None else None


async def _taken(host: Host, chats: Chats, document: Document, arguments: SendArguments) -> object:
    """Send the draft once; another send from this document waits until the text is taken."""
    text = document.text
    draft = layout.draft_of(text)
    if draft is None:
        raise UserError(
            f"the chat does not end with a prompt: write a line `{layout.YOU}` at its end, and "
            f"your prompt below it"
        )
    raw = rest_of(text[draft.start : draft.stop], chats.taken(document))
    if not raw and draft.stop > draft.start:
        raise BeingSent("this prompt was already sent; nothing was sent twice")
    if not raw:
        raise UserError(f"there is nothing to send; write below the last line `{layout.YOU}`")
    words = raw.replace("\r\n", "\n")
    try:
        await chats.asking.check(document, raw)
        command = command_of(words, await _called(host, words))
        if command is not None:
            return await _obeyed(host, chats, document, command, raw)
        target = await _target(host, chats, document)
        if arguments.how != "next" and chats.runs_in(document):
            return await _steered(host, chats, document, raw, words)
        return await _sent(host, chats, document, OutgoingPrompt(raw, words, target))
    except BeingSent:
        raise
    except UserError as error:
        await _note(chats, document, f"Not sent: {error}")
        raise


class OutgoingPrompt:
    """A prompt to send: the document's text, the text for the model, and the session."""

    def __init__(self, raw: str, words: str, target: str) -> None:
        self.raw, self.words, self.target = raw, words, target


async def _sent(host: Host, chats: Chats, document: Document, draft: OutgoingPrompt) -> Ticket:
    mentions = await _mentioned(host, chats, document, draft.words)
    params = protocol.PromptParams(text=draft.words, session=draft.target, mentions=mentions)
    ticket = await host.prompt(params)
    ticket.in_chat = True
    chats.drafts.vouch(document, draft.raw)
    sent = SentWords(ticket, document.uri, draft.raw, draft.words)
    chats.sent.append(sent)
    chats.standing.append(sent)
    host.chores.begin(_followed(chats, document, sent))
    if ticket.waiting in host.turns.queue.waiting:
        await _change(chats, document, partial(moving.queued, words=draft.raw))
        if sent in chats.standing and moving.waits(document.text, draft.raw):
            chats.standing.remove(sent)
    return ticket


async def _followed(chats: Chats, document: Document, sent: SentWords) -> None:
    """If no turn receives the text, restore the text in the draft, below the reason."""
    ticket = sent.ticket
    await ticket.ended.wait()
    chats.sent.remove(sent)
    # No turn writes the text into the document.
    if sent.is_placed is None and sent in chats.standing:
        chats.standing.remove(sent)
    if ticket.error is not None:
        await _change(chats, document, partial(moving.withdrawn, words=sent.raw))
        await _note(chats, document, str(ticket.error))
    elif ticket.finished is not None and not ticket.finished.turn:
        await _change(chats, document, partial(moving.withdrawn, words=sent.raw))


async def _steered(
    host: Host, chats: Chats, document: Document, raw: str, words: str
) -> protocol.SteerResult:
    """Send a message to the running turn; remove the message from the draft after delivery."""
    running = chats.ticket_of(document)
    assert running is not None, "it runs in this document"
    known = chats.steered.get(document.uri)
    if known is None or known.ticket is not running:
        known = chats.steered[document.uri] = Steering(running, [])
    known.raws.append(raw)  # Record the text before the turn can receive it.
    try:
        session = running.session.id if running.session is not None else None
        params = protocol.SteerParams(text=words, session=session)
        result = await host.steer(params, numbered=True)
        running.in_chat = True
    except UserError:
        known.raws.remove(raw)
        raise
    if result.is_choice:  # the answer belongs below its question in the document
        known.raws.remove(raw)
        await _change(chats, document, partial(moving.cleared, words=raw))
    elif not result.is_answered:  # The event of an answered command has moved the text already.
        chats.drafts.vouch(document, raw)
        chats.took(running, words)
    return result


async def _obeyed(
    host: Host, chats: Chats, document: Document, command: ChatCommand, raw: str
) -> object:
    await _change(chats, document, partial(moving.cleared, words=raw))
    match command.name:
        case "stop":
            running = chats.ticket_of(document)
            return host.turns.cancel(running.token if running is not None else None)
        case "mode":
            assert command.mode is not None
            session = chats.session_of(document)
            is_open = host.sessions.find(session) is not None
            host.service.commands.set_mode(command.mode, session if is_open else None)
            await _note(chats, document, f"The mode is `{command.mode}` now.")
            return None
        case "effort":
            await _note(chats, document, _effort_note(host, chats, document, command.effort))
            return None
        case "context":
            await _note(chats, document, await _context_note(host, chats, document))
            return None
        case "new":
            return await opened(host, chats, ChatArguments(new=True))


def _effort_note(host: Host, chats: Chats, document: Document, effort: Effort | None) -> str:
    """Set the given effort, if there is one; return a message about the new effort."""
    session = chats.session_of(document)
    if effort is None:
        now = host.service.configuration.settings.effort or "auto"
        choices = ", ".join(f"`/effort {one}`" for one in EFFORT_WORDS)
        return f"The effort is `{now}`. The choices are {choices}."
    is_open = host.sessions.find(session) is not None
    host.service.commands.set_effort(effort, session if is_open else None)
    return f"The effort is `{effort or 'auto'}` from the next turn on."


async def _context_note(host: Host, chats: Chats, document: Document) -> str:
    """Return a message about the parts of the window in the document's session."""
    session = host.sessions.find(chats.session_of(document))
    if session is None:
        return "This chat has no open session yet; its first prompt opens one."
    conversation = session.conversation
    parts = await asyncio.to_thread(window_parts, conversation)
    lines = [f"The window has {conversation.config.window:,} tokens:", ""]
    return "\n".join([*lines, *(f"- {tokens:,}: {words}" for tokens, words in part_words(parts))])


async def _called(host: Host, words: str) -> Collection[str]:
    """Return the names of skills, if the text could call a skill."""
    return await names_of(host) if words.startswith("/") else ()


async def _target(host: Host, chats: Chats, document: Document) -> str:
    """Return the session of a document, or ``new``.

    Raises:
        UserError: The session is not of this workspace, and the user declines a new session.
    """
    named = chats.session_of(document)
    own = next((one for one in chats.sent if one.uri == document.uri), None)
    if not named:
        return "new" if own is None else await _own_session(own)
    try:
        await host.sessions.check(named)
    except SessionError as error:
        question = f"Indwell: this chat names a session that is not known here ({error})."
        if (await chats.asking.choose(document, question, ANEW))[0]:
            return "new"
        raise UserError(
            f"{error}. Remove the first line of the chat, and it begins a new session"
        ) from error
    return named


async def _own_session(sent: SentWords) -> str:
    """Wait until a chat's first prompt has opened a session, so that no second one is opened."""
    try:
        await sent.ticket.begins(OPENING_S)
    except UserError:
        raise BeingSent(
            "the first prompt of this chat has not started yet; send this prompt after it has"
        ) from None
    return sent.ticket.session.id if sent.ticket.session is not None else "new"


async def _mentioned(host: Host, chats: Chats, document: Document, words: str) -> tuple[str, ...]:
    """Return the files that the text names; tell the user which files cannot be sent."""
    workspace = host.sessions.workspace
    mentions = (one.mention for one in mentions_in(words))
    found = [one for one in mentions if one.written not in dict(STATE_MENTIONS)]
    # The names may be resources of MCP servers instead of files.
    if any(":" in one.path for one in found):
        servers = {one.name for one in (await host.service.mcp.look()).servers}
        found = [one for one in found if one.path.partition(":")[0] not in servers]
    if not found or workspace is None:
        return ()
    good: list[Mention] = []
    problems: list[str] = []
    for mention in dict.fromkeys(found):
        taken = await attachments(workspace, host.settings, (mention,), host.attention.names)
        if taken.files:
            good.append(mention)
        elif _is_file_name(mention) or await _is_there(workspace, mention.path):
            problems += taken.problems
    if len(good) > MOST:
        problems.append(f"only the first {MOST} of {len(good)} mentioned files are attached")
    if problems:
        await _note(chats, document, "\n".join(problems))
    return tuple(one.written for one in good[:MOST])


def _is_file_name(mention: Mention) -> bool:
    """Return whether the mention looks like a file name; other mentions may name people."""
    return bool(mention.first) or "." in mention.path or "/" in mention.path


async def _is_there(workspace: Workspace, name: str) -> bool:
    try:
        return await asyncio.to_thread(exists, workspace.resolve(name))
    except ToolError:
        return True  # the path leads out of the workspace, or is no file of the workspace


async def _note(chats: Chats, document: Document, words: str) -> None:
    """Insert a note above the draft, unless the last note is identical."""
    note = quoted(words)

    def plan(text: str) -> Sequence[TextSplice]:
        draft = layout.draft_of(text)
        above = text[: draft.heading.start] if draft is not None else text
        is_there = above.rstrip().replace("\r\n", "\n").endswith(note)
        return () if is_there else layout.noted(text, note)

    await _change(chats, document, plan)


async def _change(chats: Chats, document: Document, plan: layout.Plan) -> None:
    """Change the document, or do nothing if the editor refuses."""
    try:
        await chats.paper.change(document, lambda text: edited(text, plan(text)))
    except EditRefused:
        return


def register_chat(server: Server, host: Host) -> ChatViews:
    """Register both commands, and the requests about chats."""
    chats = Chats(host)
    views = ChatViews(host, chats)
    host.client.chat = QuestionPlace(host, chats)

    @server.command("indwell.chat")
    async def chat(arguments: ChatArguments) -> ChatResult | None:
        return await host.answering.answer(opened(host, chats, arguments), wait=arguments.wait)

    @server.command("indwell.send")
    async def send_draft(arguments: SendArguments) -> object:
        return await host.answering.answer(send(host, chats, arguments), wait=arguments.wait)

    @server.feature("textDocument/documentSymbol")
    async def symbols(params: types.DocumentSymbolParams) -> msgspec.Raw:
        return await _looked(host, params.text_document.uri, views.symbols)

    @server.feature("textDocument/foldingRange")
    async def folds(params: types.FoldingRangeParams) -> msgspec.Raw:
        return await _looked(host, params.text_document.uri, views.folds)

    @server.feature("textDocument/documentLink")
    async def links(params: types.DocumentLinkParams) -> msgspec.Raw:
        return await _looked(host, params.text_document.uri, views.links)

    @server.feature("textDocument/completion")
    async def completion(params: types.CompletionParams) -> msgspec.Raw:
        uri, position = params.text_document.uri, params.position
        return await _looked(host, uri, lambda document: views.completion(document, position))

    return views


async def ask_for_chats(host: Host) -> None:
    """Register only for chats, if the editor supports a document selector."""
    dynamic = host.client.features.dynamic
    found = [
        sync.Registration(
            id=f"indwell-chat-{name}",
            method=f"textDocument/{name}",
            register_options={"documentSelector": [{"pattern": PATTERN}], **CHAT_OPTIONS[name]},
        )
        for name in CHAT_FEATURES
        if name in dynamic
    ]
    if found:
        await host.client.register(found)


async def _looked(host: Host, uri: str, look: Callable[[Document], Awaitable[Any]]) -> msgspec.Raw:
    """Answer a request with JSON; the answer is null if the document is not an open chat."""
    document = host.documents.get(uri) if is_chat(uri) else None
    if document is None:
        return msgspec.Raw(b"null")
    return msgspec.Raw(msgspec.json.encode(await look(document)))
