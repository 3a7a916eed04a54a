"""Converts the content of an ACP prompt to the user's text with attachments.

A part of a file becomes the selection, a link to a file a mention, and other text becomes data that
cannot give orders.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from acp import schema
from indwell.agent.core.prompt import Prompt, taken_words
from indwell.bounds.secrets import OtherNames
from indwell.context.attachments import NamedPicture, PastedText, Selection
from indwell.context.untrusted_text import short_line
from indwell.errors import ToolError
from indwell.files.spelling import plain_path
from indwell.lazy_pattern import lazy_pattern
from indwell.policy.paths import matches_any
from indwell.service.attached import check_pictures, check_texts, checked_picture, checked_text
from indwell.service.mentions import Mention, attachments, is_chat, quoted_path
from indwell.service.turns.queue import title_of
from indwell.settings.model import Settings
from indwell.workspace.base import Workspace
from indwell.workspace.paths import display

_LINES = lazy_pattern(r"^L?(?P<first>\d{1,7})(?:[-:]L?(?P<last>\d{1,7}))?$")

Block = (
    schema.TextContentBlock
    | schema.ImageContentBlock
    | schema.AudioContentBlock
    | schema.ResourceContentBlock
    | schema.EmbeddedResourceContentBlock
)


class FilePlace(NamedTuple):
    """A file with a range of lines, 1-based and inclusive; line 0 means the whole file."""

    path: str
    first: int = 0
    last: int = 0


def place_of(uri: str) -> FilePlace | None:
    """Return the file of a URI, with lines for ``#L3:9``, or None for a URI of no file."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or not parts.path:
        return None
    try:
        path = plain_path(uri.partition("#")[0])
    except ToolError:
        return None  # the file is on another host
    match = _LINES.match(parts.fragment)
    if match is None:
        return FilePlace(path)
    first, last = sorted((int(match["first"]), int(match["last"] or match["first"])))
    return FilePlace(path, first, last)


class PromptReader:
    """Converts the prompts of one session.

    Args:
        workspace: The user's files.
        names: Finds other names (hard links) of files that must not be sent.
    """

    def __init__(self, workspace: Workspace, names: OtherNames) -> None:
        self._workspace = workspace
        self._names = names

    async def prompt(
        self, blocks: Sequence[Block], settings: Settings
    ) -> tuple[Prompt, tuple[str, ...]]:
        """Return the prompt, and a sentence about each part that is not sent.

        Raises:
            UserError: A picture or a text cannot be sent.
        """
        words: list[str] = []
        pictures: list[NamedPicture] = []
        texts: list[PastedText] = []
        marked: list[Selection] = []
        mentions: list[Mention] = []
        problems: list[str] = []
        for block in blocks:
            match block:
                case schema.TextContentBlock(text=text):
                    words.append(text)
                case schema.ImageContentBlock(data=data, mime_type=mime):
                    label = _label(block.uri or "")
                    number = len(pictures) + 1
                    pictures.append(
                        await asyncio.to_thread(checked_picture, label, mime, data, number)
                    )
                case schema.ResourceContentBlock(uri=uri, name=name):
                    words.append(self._mentioned(uri, name, mentions, problems))
                case schema.EmbeddedResourceContentBlock(resource=resource):
                    words.append(await self._embedded(resource, settings, marked, texts, problems))
                case _:
                    problems.append("audio was not sent: Indwell reads only text and pictures")
        check_pictures(pictures)
        check_texts(texts)
        found = await attachments(self._workspace, settings, mentions, self._names)
        said = taken_words("".join(words))
        return (
            Prompt(
                said,
                title=title_of(said),
                selection=marked[0] if len(marked) == 1 else None,
                mentioned=(*(marked if len(marked) > 1 else ()), *found.files),
                folders=found.folders,
                texts=tuple(texts),
                pictures=tuple(pictures),
            ),
            (*problems, *found.problems),
        )

    def _mentioned(self, uri: str, name: str, mentions: list[Mention], problems: list[str]) -> str:
        """Add a linked file to the mentions; return the text that replaces the link."""
        place = place_of(uri)
        if place is None:
            if not urlsplit(uri).scheme.startswith("http"):
                problems.append(f"{short_line(name or uri, 80)} is not attached: it is not a file")
            return f" {short_line(uri, 400)} "
        shown = self._shown(place.path)
        mention = Mention(shown, place.first, place.last)
        mentions.append(mention)
        return f"@{quoted_path(mention.written)}"

    async def _embedded(
        self,
        resource: schema.TextResourceContents | schema.BlobResourceContents,
        settings: Settings,
        marked: list[Selection],
        texts: list[PastedText],
        problems: list[str],
    ) -> str:
        """Add a text that the client has embedded; return the text that replaces it."""
        label = _label(resource.uri)
        if isinstance(resource, schema.BlobResourceContents):
            problems.append(f"{label} is not attached: it is not a text")
            return label
        place = place_of(resource.uri)
        if place is None:
            texts.append(checked_text(label, resource.text))
            return label
        shown = self._shown(place.path)
        if await self._is_denied(place.path, settings):
            problems.append(f"@{shown} is not attached: a `deny` rule in your settings hides it")
            return label
        n_lines = max(resource.text.count("\n") + (not resource.text.endswith("\n")), 1)
        first = place.first or 1
        marked.append(Selection(shown, first, first + n_lines - 1, resource.text))
        lines = f"#L{first}-{first + n_lines - 1}" if place.first else ""
        return f"@{quoted_path(shown)}{lines}"

    async def _is_denied(self, written: str, settings: Settings) -> bool:
        """Return whether a rule denies the written name, the resolved name or a hard link."""
        names = [written, os.path.normpath(written), self._shown(written)]  # noqa: ASYNC240 - pure
        try:
            path = await asyncio.to_thread(self._workspace.resolve, written)
        except ToolError:  # the file is outside of the workspace
            path = await asyncio.to_thread(Path(written).resolve)
        else:
            if await self._names.kept_by(path, settings):
                return True
        names += [path.as_posix(), display(path, self._workspace.roots)]
        is_of_chat = is_chat(path.as_uri())
        return is_of_chat or any(matches_any(one, settings.deny) for one in names)

    def _shown(self, path: str) -> str:
        return display(Path(path), self._workspace.roots)


def _label(uri: str) -> str:
    """Return a short name for a resource: the last part of its URI."""
    path = unquote(urlsplit(uri).path).rstrip("/")
    return short_line(path.rpartition("/")[2] or uri, 80) or "text"
