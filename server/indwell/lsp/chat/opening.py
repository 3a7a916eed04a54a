"""``indwell.chat``: the chat of a session, found or made, and opened beside what the user does."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC, datetime
from pathlib import Path

from lsprotocol import types

from indwell.errors import EditRefused, UserError
from indwell.lsp.chat.catching_up import caught_up, new_text
from indwell.lsp.chat.chats import Chats
from indwell.lsp.chat.files import changed_on_disk, chat_of, made_chat, new_chat
from indwell.lsp.chat.layout import edited, noted
from indwell.lsp.documents import path_of
from indwell.lsp.host import Host
from indwell.lsp.protocol_chat import ChatArguments, ChatResult
from indwell.policy.approvals import visible
from indwell.service.mentions.chat_names import SUFFIX, is_chat


async def opened(
    host: Host, chats: Chats, arguments: ChatArguments, *, note: str = ""
) -> ChatResult:
    """Open a chat; it never takes the focus.

    Args:
        host: Of the editor.
        chats: Its chats.
        arguments: Which chat.
        note: A paragraph of ours that it is to have above the draft.

    Raises:
        UserError: There is no such session, or the chat cannot be made.
    """
    path, session = await _found(host, chats, arguments)
    if note:
        await _put(host, chats, path, note)
    return await _shown(host, path, session)


async def _found(host: Host, chats: Chats, arguments: ChatArguments) -> tuple[Path, str | None]:
    """The file of a chat, with all that was said in its session."""
    root = host.root
    if arguments.uri is not None:
        return await _named(host, arguments.uri), None
    wanted = arguments.session or (None if arguments.new else host.sessions.id)
    if wanted is None:
        return await asyncio.to_thread(new_chat, root, _today(), new_text()), None
    turns = await chats.turns_of(wanted)
    document = chats.of_session(wanted)
    if document is not None and document.path is not None:
        await chats.catch_up(document)
        return document.path, wanted
    found = await asyncio.to_thread(chat_of, root, wanted)
    if found is not None:
        await asyncio.to_thread(
            changed_on_disk,
            found,
            [root],
            lambda text: caught_up(text, turns, wanted, chats.running_in(wanted)),
        )
        return found, wanted
    ended = [one for one in turns if one.ending is not None]
    path = await asyncio.to_thread(new_chat, root, _today(), new_text(wanted, ended))
    return path, wanted


async def _put(host: Host, chats: Chats, path: Path, note: str) -> None:
    """Put a paragraph above the draft, if the document takes it."""

    def plan(text: str) -> str:
        return edited(text, noted(text, note))

    document = host.documents.at(path)
    if document is None:
        await asyncio.to_thread(changed_on_disk, path, [path.parent], plan)
        return
    with contextlib.suppress(EditRefused):  # whoever asks for it has shown it before
        await chats.paper.change(document, plan)


async def _named(host: Host, uri: str) -> Path:
    path = path_of(uri)
    if path is None or not is_chat(uri):
        raise UserError(f"{visible(uri[:200])!r} is no chat; its name must end with `{SUFFIX}`")
    if host.documents.at(path) is None:
        workspace = host.sessions.workspace
        roots = workspace.roots if workspace is not None else (host.root,)
        await asyncio.to_thread(made_chat, path, roots, new_text())
    return path


async def _shown(host: Host, path: Path, session: str | None) -> ChatResult:
    uri = path.as_uri()
    shown = await host.client.show_document(uri)
    if not shown and host.documents.at(path) is None:
        host.client.show(types.MessageType.Info, f"Indwell: the chat is in {path}; open it")
    return ChatResult(uri=uri, path=str(path), session=session, shown=shown)


def _today() -> str:
    return datetime.now(UTC).astimezone().strftime("%Y-%m-%d")
