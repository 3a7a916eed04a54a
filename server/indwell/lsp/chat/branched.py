"""What a chat shows of a conversation that was taken back, or that another one goes on from."""

from __future__ import annotations

from functools import partial

from lsprotocol import types

from indwell.errors import EditRefused
from indwell.lsp.chat import layout
from indwell.lsp.chat.chats import Chats
from indwell.lsp.chat.layout import edited
from indwell.lsp.chat.neutral import quoted
from indwell.lsp.chat.opening import opened
from indwell.lsp.host import Host
from indwell.lsp.protocol_chat import ChatArguments


async def mark_rewound(chats: Chats, session: str, turn: int) -> None:
    """Say in the open chat of a session that it was taken back to the end of a turn."""
    document = chats.of_session(session)
    if document is None:
        return
    try:
        await chats.paper.change(document, partial(_marked, turn=turn))
    except EditRefused:
        return  # the session is right, and nothing depends on the mark


async def show_fork(host: Host, chats: Chats, origin: str, session: str, turn: int | None) -> None:
    """Say what was made; where the origin is a chat, its fork gets one too."""
    if host.client.features.has("events"):
        return
    where = ending_of(turn)
    words = f"Indwell: a new conversation goes on from {where}; what you send now goes there"
    if chats.of_session(origin) is None:
        host.client.show(types.MessageType.Info, words)
        return
    chat = await opened(host, chats, ChatArguments(session=session))
    name = chat.path.replace("\\", "/").rsplit("/", 1)[-1]
    host.client.show(
        types.MessageType.Info,
        f"Indwell: a new conversation goes on from {where}, in the chat {name}",
    )


def ending_of(turn: int | None) -> str:
    """Where a conversation goes on from."""
    if turn is None:
        return "the end of the last turn"
    return f"the end of turn {turn}" if turn else "the beginning"


def _marked(text: str, turn: int) -> str:
    turns = [one.turn for one in layout.headings(text) if one.kind == "turn"]
    if not turns or turns[-1] <= turn:
        return text
    between = "what stands between is" if turn else "what stands above is"
    note = quoted(f"Taken back to {ending_of(turn)}; {between} no longer part of the conversation.")
    draft = layout.draft_of(text)
    above = text[: draft.heading.start] if draft is not None else text
    if above.rstrip().replace("\r\n", "\n").endswith(note):
        return text
    return edited(text, layout.noted(text, note))
