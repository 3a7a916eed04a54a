"""``indwell.send``: what the user wrote at the end of a chat goes to its session.

Only the text below the last heading is sent. Nothing leaves the draft before a turn has taken it,
and where it cannot be taken the reason stands above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from indwell.errors import EditRefused, SessionError, UserError
from indwell.lsp import answers, protocol
from indwell.lsp.attaching import attachments
from indwell.lsp.chat import layout
from indwell.lsp.chat.chats import Chats, Sent, draft_lines
from indwell.lsp.chat.commands import Command, command_of
from indwell.lsp.chat.layout import Splice, edited
from indwell.lsp.chat.neutral import quoted
from indwell.lsp.chat.opening import opened
from indwell.lsp.documents import Document
from indwell.lsp.host import Host
from indwell.lsp.mentions import Mention, mentions_in
from indwell.lsp.protocol_chat import ChatArguments, SendArguments
from indwell.policy.approvals import folded, visible

SEND = "Send them"
ANEW = "Begin a new session"
MOST_ASKED = 4_000  # characters that a person looks through in a question


async def send(host: Host, chats: Chats, arguments: SendArguments) -> object:
    """Send the draft; gives the turn that began, or the prompt that waits.

    Raises:
        UserError: It cannot be sent, in plain words; it stays where it is.
    """
    document = chats.document(arguments.uri)
    text = document.text
    draft = layout.draft_of(text)
    if draft is None:
        raise UserError(
            f"the chat does not end with words of yours: write a line `{layout.YOU}` at its end, "
            "and the words below it"
        )
    raw = text[draft.start : draft.stop]
    if not raw:
        raise UserError(f"there is nothing to send; write below the last line `{layout.YOU}`")
    words = raw.replace("\r\n", "\n")
    try:
        command = command_of(words)
        if command is not None:
            return await _obeyed(host, chats, document, command, raw)
        target = await _target(host, chats, document)
        await _check_own(host, chats, document, target)
        if arguments.how != "next" and chats.runs_in(document):
            return await _steered(host, chats, document, raw, words)
        return await _sent(host, chats, document, Draft(raw, words, target))
    except UserError as error:
        await _note(chats, document, f"Not sent: {error}")
        raise


class Draft:
    """What is sent: as it stands in the document, as the model gets it, and where to."""

    def __init__(self, raw: str, words: str, target: str) -> None:
        self.raw, self.words, self.target = raw, words, target


async def _sent(host: Host, chats: Chats, document: Document, draft: Draft) -> object:
    if any(
        one.uri == document.uri and one.raw == draft.raw and not one.ticket.begun.is_set()
        for one in chats.sent
    ):
        raise UserError("these words are on their way already")
    mentions = await _mentioned(host, chats, document, draft.words)
    params = protocol.PromptParams(text=draft.words, session=draft.target, mentions=mentions)
    ticket = await host.prompt(params)
    sent = Sent(ticket, document.uri, draft.raw, draft.words)
    chats.sent.append(sent)
    host.chores.begin(_followed(chats, document, sent))
    if ticket.waiting in host.turns.queue.waiting:
        await _change(chats, document, partial(layout.queued, words=draft.raw))
        return answers.started(ticket)
    await ticket.begun.wait()
    return answers.started(ticket) if ticket.error is None else None


async def _followed(chats: Chats, document: Document, sent: Sent) -> None:
    """See to it that words which no turn has taken are in the draft, with the reason above."""
    ticket = sent.ticket
    await ticket.ended.wait()
    chats.sent.remove(sent)
    if ticket.error is not None:
        await _change(chats, document, partial(layout.withdrawn, words=sent.raw))
        await _note(chats, document, str(ticket.error))
    elif ticket.finished is not None and not ticket.finished.turn:
        await _change(chats, document, partial(layout.withdrawn, words=sent.raw))


async def _steered(
    host: Host, chats: Chats, document: Document, raw: str, words: str
) -> protocol.SteerResult:
    """Give the words to the running turn; they leave the draft when the model has them."""
    if chats.steered.get(document.uri) == raw:
        raise UserError("the running turn has these words already, and takes them at its next step")
    result = await host.steer(protocol.SteerParams(text=words))
    chats.steered[document.uri] = raw
    return result


async def _obeyed(
    host: Host, chats: Chats, document: Document, command: Command, raw: str
) -> object:
    await _change(chats, document, partial(layout.cleared, words=raw))
    match command.name:
        case "stop":
            return host.turns.cancel()
        case "mode":
            assert command.mode is not None
            host.set_mode(command.mode)
            await _note(chats, document, f"The mode is `{command.mode}` now.")
            return None
        case "new":
            return await opened(host, chats, ChatArguments(new=True))


async def _target(host: Host, chats: Chats, document: Document) -> str:
    """The session of a document, or ``new``.

    Raises:
        UserError: It names one that is not of this workspace, and the user wants no new one.
    """
    named = chats.session_of(document)
    own = next((one for one in chats.sent if one.uri == document.uri), None)
    if not named:
        session = own.ticket.session if own is not None else None
        return session.id if session is not None else "new"
    try:
        await host.sessions.check(named)
    except SessionError as error:
        question = f"Indwell: this chat names a session that is not known here ({error})."
        timeout_s = host.settings.answer_timeout_s
        if await host.client.choose(question, (ANEW,), timeout_s) == ANEW:
            return "new"
        raise UserError(
            f"{error}. Remove the first line of the chat, and it begins a new session"
        ) from error
    return named


async def _check_own(host: Host, chats: Chats, document: Document, target: str) -> None:
    """Ask about words that stood in a file which nothing says is the user's.

    A repository may bring a chat along, with words at its end.

    Raises:
        UserError: The user did not say that they are to be sent.
    """
    if target != "new" or document.path in chats.made:
        return
    text = document.text
    if not chats.stood_there(document) & draft_lines(text):
        return
    draft = layout.draft_of(text)
    assert draft is not None, "it has lines"
    words = text[draft.start : draft.stop]
    if len(words) <= MOST_ASKED:
        question = (
            "Indwell: some of these words stood in the file before you opened it. Send them as "
            f"yours?\n\n{folded(visible(words))}"
        )
        if await host.client.choose(question, (SEND,), host.settings.answer_timeout_s) == SEND:
            return
    raise UserError(
        "some of these words stood in the file before you opened it; remove them, or write in a "
        "chat of your own (`indwell.chat`)"
    )


async def _mentioned(host: Host, chats: Chats, document: Document, words: str) -> tuple[str, ...]:
    """What of the words names files that go along; what cannot is said."""
    workspace = host.sessions.workspace
    found = [one.mention for one in mentions_in(words)]
    if not found or workspace is None:
        return ()
    good: list[Mention] = []
    problems: list[str] = []
    for mention in dict.fromkeys(found):
        taken = await attachments(workspace, host.settings, (mention,))
        if taken.files:
            good.append(mention)
        elif mention.first or "." in mention.path or "/" in mention.path:
            problems += taken.problems
    if problems:
        await _note(chats, document, "\n".join(problems))
    return tuple(one.written for one in good)


async def _note(chats: Chats, document: Document, words: str) -> None:
    """A paragraph of ours above the draft, unless it is the last one there."""
    note = quoted(words)

    def plan(text: str) -> Sequence[Splice]:
        draft = layout.draft_of(text)
        above = text[: draft.heading.start] if draft is not None else text
        is_there = above.rstrip().replace("\r\n", "\n").endswith(note)
        return () if is_there else layout.noted(text, note)

    await _change(chats, document, plan)


async def _change(chats: Chats, document: Document, plan: layout.Plan) -> None:
    """Change the document if that can be; nothing depends on it."""
    try:
        await chats.paper.change(document, lambda text: edited(text, plan(text)))
    except EditRefused:
        return
