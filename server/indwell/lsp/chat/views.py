"""Answers the editor's requests about a chat document: actions, lenses, symbols, completion."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from indwell.agent.features.mcp.feature import ServerTools
from indwell.agent.features.mcp.named_offers import ServerOffers
from indwell.agent.features.plan import board_of
from indwell.agent.features.questions import question_of
from indwell.context.untrusted_text import short_line
from indwell.lsp.chat import layout, outline
from indwell.lsp.chat import outline as offers
from indwell.lsp.chat.chats import Chats
from indwell.lsp.chat.completion import NamedLines, completed, named_lines, ranged_path
from indwell.lsp.host import Host
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.messages.status import SkillRow, SkillsResult
from indwell.lsp.workspace.documents import Document
from indwell.skills.skill import Skill
from indwell.workspace.paths import display
from indwell.workspace.text import units_in_line


async def skills_of(host: Host) -> Mapping[str, Skill]:
    """Return the available skills by name, or an empty mapping if no folder is open."""
    workspace = host.sessions.workspace
    if workspace is None:
        return {}
    return (await host.composition.skills(workspace.roots, host.settings)).by_name


async def names_of(host: Host) -> Collection[str]:
    """Return the names of all skills that may be called, including untrusted skills."""
    workspace = host.sessions.workspace
    if workspace is None:
        return ()
    found = await host.composition.skills(workspace.roots, host.settings)
    return (*found.by_name, *found.withheld)


async def skill_rows(host: Host) -> SkillsResult:
    """Return the skills as the answer to ``indwell/skills``."""
    found = await skills_of(host)
    return SkillsResult(
        tuple(SkillRow(one.name, one.description, one.origin) for one in found.values())
    )


async def mcp_offers(host: Host) -> Mapping[str, ServerOffers]:
    """Return the prompts and resources of running MCP servers, by server."""
    found: dict[str, ServerOffers] = {}
    for session in host.sessions:
        for name, one in (await session.parts.features.door(ServerTools).offers()).items():
            found.setdefault(name, one)
    return found


LONG = 100_000  # A longer chat is processed in a thread; a shorter one takes a few milliseconds.
# Definitions are offered as line ranges for files of up to 400,000 characters.
SYMBOLS_CHARACTERS = 400_000

Look: TypeAlias = Callable[[str, outline.Place], list[dict[str, Any]]]


class ChatViews:
    """Answers requests about the chats of one editor.

    Args:
        host: The server's state for this editor.
        chats: The editor's chats.
    """

    def __init__(self, host: Host, chats: Chats) -> None:
        self._host = host
        self._chats = chats

    @property
    def chats(self) -> Chats:
        """The chats of the editor."""
        return self._chats

    def actions(self, uri: str, line: int, character: int) -> list[dict[str, Any]]:
        """Return the code actions of a chat at a position."""
        document = self._host.documents.get(uri)
        if document is None:
            return []
        position = types.Position(line=line, character=character)
        at = document.offset(position, self._host.documents.encoding)
        return offers.actions(document.text, self._state(document), at)

    def lenses(self, uri: str) -> list[dict[str, Any]]:
        """Return the code lenses of a chat."""
        document = self._host.documents.get(uri)
        if document is None:
            return []
        return offers.lenses(document.text, self._state(document), self._place(document))

    async def symbols(self, document: Document) -> list[dict[str, Any]]:
        """Return the symbols of a chat: its turns and tool calls."""
        return await self._beside(outline.symbols, document)

    async def folds(self, document: Document) -> list[dict[str, Any]]:
        """Return the folding ranges of a chat: tool calls, reasoning and older turns."""
        return await self._beside(outline.folding_ranges, document)

    async def links(self, document: Document) -> list[dict[str, Any]]:
        """Return the links of a chat to hunks and to mentioned files."""
        # The list of names must be created on the event loop, before the thread.
        self._chats.names.known(self._roots())
        return await self._beside(partial(self._links, document), document)

    async def _beside(self, look: Look, document: Document) -> list[dict[str, Any]]:
        """Run ``look`` on a text, in a thread if the text is long (50 ms per megabyte)."""
        text, encoding = document.text, self._host.documents.encoding
        if len(text) < LONG:
            return look(text, outline.TextPositions(text, encoding))
        return await asyncio.to_thread(lambda: look(text, outline.TextPositions(text, encoding)))

    def _links(self, document: Document, text: str, place: outline.Place) -> list[dict[str, Any]]:
        found = []
        for link in outline.links(text):
            target = self._target(document, link)
            if target:
                range_ = {"start": place(link.start), "end": place(link.stop)}
                found.append({"range": range_, "target": target})
        return found

    async def completion(self, document: Document, position: types.Position) -> dict[str, Any]:
        """Return completions at the cursor; the editor asks again after the next key press."""
        encoding = self._host.documents.encoding
        at = document.offset(position, encoding)
        start = document.offset(types.Position(line=position.line, character=0), encoding)
        draft = layout.draft_of(document.text)
        line = document.text[start:at]
        path = ranged_path(line)
        lines = await self._lines_of(path) if path else ()
        items = completed(
            line,
            is_draft_start=draft is not None and draft.heading.end <= start <= draft.start,
            names=lambda: self._chats.names.known(self._roots()),
            lines_of=lambda _: lines,
            skills=(*await self._skills(), *await self._prompts()) if line[:1] == "/" else (),
            resources=await self._resources() if "@" in line and ":" in line else (),
        )
        end = {"line": position.line, "character": units_in_line(line, len(line), encoding)}
        # Cache the edit ranges by the length of the replaced text, of which there is usually one.
        begins: dict[int, dict[str, Any]] = {}
        rows = []
        for number, item in enumerate(items):
            range_ = begins.get(item.n_before)
            if range_ is None:
                n_kept = len(line) - item.n_before
                begin = {**end, "character": units_in_line(line, n_kept, encoding)}
                range_ = begins[item.n_before] = {"start": begin, "end": end}
            rows.append(
                {
                    "label": item.label,
                    "kind": item.kind,
                    "detail": item.detail,
                    "filterText": line[len(line) - item.n_before :] + item.text,
                    "sortText": f"{number:04}",
                    "textEdit": {"range": range_, "newText": item.text},
                }
            )
        return {"isIncomplete": True, "items": rows}

    async def _skills(self) -> tuple[tuple[str, str], ...]:
        """Return the skills that the user can call, with their descriptions."""
        found = await skills_of(self._host)
        return tuple((f"/{one.name}", short_line(one.description, 100)) for one in found.values())

    async def _prompts(self) -> tuple[tuple[str, str], ...]:
        """Return the prompts of running MCP servers, with their descriptions."""
        return tuple(
            (f"/{name}:{prompt.name}", short_line(prompt.description, 100))
            for name, offers in (await mcp_offers(self._host)).items()
            for prompt in offers.prompts
        )

    async def _resources(self) -> tuple[tuple[str, str], ...]:
        """Return the resources of running MCP servers, with their descriptions."""
        return tuple(
            (f"{name}:{one.uri}", short_line(one.description or one.name, 100))
            for name, offers in (await mcp_offers(self._host)).items()
            for one in offers.resources
        )

    def _state(self, document: Document) -> offers.ChatState:
        ledger, session = self._host.review.ledger, self._chats.session_of(document)
        pending = frozenset(
            actor.turn
            for path in (ledger.paths() if ledger is not None and session else ())
            for hunk in ledger.hunks(path)  # type: ignore[union-attr] # there is one
            for actor in hunk.actors
            if actor.session == session
        )
        running = self._chats.runs_in(document)
        is_busy = not running and not self._host.turns.has_room
        opened = self._host.sessions.find(session)
        is_planned = opened is not None and board_of(opened).plan.state == "proposed"
        turn = self._chats.ticket_of(document)
        asker = turn.session if turn is not None else None
        is_asked = asker is not None and question_of(asker).is_waiting
        return offers.ChatState(
            document.uri, session, running, is_busy, pending, is_planned, asked=is_asked
        )

    def _place(self, document: Document) -> outline.Place:
        encoding = self._host.documents.encoding

        def place(offset: int) -> dict[str, int]:
            found = document.place(offset, encoding)
            return {"line": found.line, "character": found.character}

        return place

    async def _lines_of(self, name: str) -> tuple[NamedLines, ...]:
        """Return the selected lines of an open file, and the file's definitions."""
        roots = self._roots()
        found: list[NamedLines] = []
        for document in self._host.documents:
            if document.path is None or display(document.path, roots) != name:
                continue
            marked = self._host.attention.selection(self._host.settings)
            if marked is not None and marked.path == name:
                found.append(NamedLines("selection", marked.first_line, marked.last_line))
            text = document.text[:SYMBOLS_CHARACTERS]
            found += await asyncio.to_thread(named_lines, text)
            break
        return tuple(found)

    def _target(self, document: Document, link: outline.Link) -> str:
        """Return the file to which a link leads, or empty if the workspace lacks the file."""
        roots = self._roots()
        if link.mention is not None:
            path, line = link.mention.path, link.mention.first
            return _uri(roots[0] / path, line) if self._chats.names.has(path) else ""
        if document.path is None:
            return ""
        path, line = outline.line_of(link.target)
        target = Path(os.path.normpath(document.path.parent / path))
        is_inside = any(target.is_relative_to(root) for root in roots)
        return _uri(target, line) if is_inside else ""

    def _roots(self) -> tuple[Path, ...]:
        workspace = self._host.sessions.workspace
        return workspace.roots if workspace is not None else (self._host.root,)


def _uri(path: Path, line: int) -> str:
    return f"{path.as_uri()}#L{line}" if line else path.as_uri()
