"""Creates prompts: the user's text with attachments, selection, open file and problems."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, assert_never

import msgspec

from indwell.agent.core.prompt import Prompt, taken_words
from indwell.context.attachments import (
    FileProblems,
    NamedPicture,
    OpenedFile,
    PastedText,
    Problem,
    Selection,
    opened_words,
    selection_words,
)
from indwell.context.untrusted_text import one_line, short_line
from indwell.errors import UserError
from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages.context import Attachment
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.prompts.attention import Attention, lines_of, problem_of, touching_problems
from indwell.lsp.workspace.documents import Document, Documents, name_in, path_of
from indwell.policy.paths import matches_any
from indwell.prompt.system import TITLES, Task, named, task_words
from indwell.service.attached import (
    LABEL_CHARACTERS,
    check_pictures,
    check_texts,
    checked_picture,
    checked_text,
)
from indwell.service.mentions import attachments, mention_of
from indwell.service.turns.queue import title_of
from indwell.settings.model import Settings
from indwell.workspace.base import Workspace
from indwell.workspace.paths import display

MOST = 40  # the limit of attachments for one prompt
MOST_FILES = 200  # the limit of files with problems whose names are checked


Known: TypeAlias = "Mapping[str, tuple[types.Diagnostic, ...]]"
"""The problems of each document, by its URI."""


def checked(
    attachments: Sequence[Attachment], known: Known, roots: Sequence[Path], settings: Settings
) -> Prompt:
    """Check attachments, and return a prompt that contains only the attachments.

    Call the function in a thread, because checking pictures takes a while.

    Raises:
        UserError: An attachment cannot be sent.
    """
    if len(attachments) > MOST:
        raise UserError(f"a prompt takes {MOST} attachments, not {len(attachments)}; remove some")
    pictures: list[NamedPicture] = []
    texts: list[PastedText] = []
    reported: list[FileProblems] = []
    for one in attachments:
        match one.kind:
            case "image":
                pictures.append(checked_picture(one.label, one.mime, one.data, len(pictures) + 1))
            case "text":
                texts.append(checked_text(one.label, one.text))
            case "problems":
                reported += _problems(one, known, roots, settings)
            case "changes":
                pass  # the attachment is read when the turn begins
            case _:
                assert_never(one.kind)
    check_pictures(pictures)
    check_texts(texts)
    return Prompt(
        words="",
        pictures=tuple(pictures),
        texts=tuple(texts),
        reported=tuple(dict.fromkeys(reported)),
        changes=any(one.kind == "changes" for one in attachments),
    )


def _problems(
    one: Attachment, known: Known, roots: Sequence[Path], settings: Settings
) -> list[FileProblems]:
    if not settings.attach_diagnostics:
        raise UserError("problems are not attached, because `attach_diagnostics` is off")
    wanted = list(known)[:MOST_FILES] if one.uri is None else [one.uri]
    named = {uri: _names(uri, roots) for uri in wanted if uri in known}
    found = [
        FileProblems(names[0], tuple(map(problem_of, known[uri])))
        for uri, names in named.items()
        if not any(matches_any(name, settings.deny) for name in names)
    ]
    if not found:
        label = short_line(one.label, LABEL_CHARACTERS) or "the document"
        raise UserError(f"no known problem of {label!r} can be attached; remove it")
    return found


def reported_problems(
    known: Known, roots: Sequence[Path], settings: Settings
) -> tuple[FileProblems, ...]:
    """Return the known problems of files that the model may see, or empty if problems are off."""
    if not settings.attach_diagnostics or not known:
        return ()
    try:
        return tuple(_problems(Attachment("problems"), known, roots, settings))
    except UserError:
        return ()  # the user's rules hide all files


def _names(uri: str, roots: Sequence[Path]) -> tuple[str, ...]:
    """Return the names of a document: as displayed, and as written in the URI."""
    path = path_of(uri)
    shown = display(path, roots) if path is not None and roots else one_line(name_in(uri))
    return (shown, name_in(uri))


class PromptAttachments(msgspec.Struct, frozen=True):
    """The parts of the next prompt besides the user's text."""

    selection: Selection | None = None
    opened: OpenedFile | None = None


class Prompting:
    """Creates prompts from the editor's state.

    Args:
        documents: The open documents.
        attention: The user's focus and selection.
        settings: Returns the settings in force.
    """

    def __init__(
        self, documents: Documents, attention: Attention, settings: Callable[[], Settings]
    ) -> None:
        self._documents = documents
        self._attention = attention
        self._settings = settings
        self._detached: frozenset[str] = frozenset()

    async def look(self, *also: Document) -> None:
        """Check the hard links of the next prompt's documents and of ``also``."""
        await self._attention.look(self._settings(), *also)

    def attached(self) -> PromptAttachments:
        """Return the parts of the next prompt besides the text, without detached parts."""
        settings = self._settings()
        selection = self._attention.selection(settings)
        opened = self._attention.opened(settings)
        return PromptAttachments(
            selection if selection and selection_id(selection) not in self._detached else None,
            opened if opened and opened_id(opened) not in self._detached else None,
        )

    def detach(self, identifier: str) -> None:
        """Leave a part out of the next prompt.

        Raises:
            UserError: There is no such attachment.
        """
        now = self.attached()
        ids = {selection_id(now.selection)} if now.selection else set()
        ids |= {opened_id(now.opened)} if now.opened else set()
        if identifier not in ids:
            raise UserError(
                f"no attachment has the id {identifier!r}; indwell/context lists the attachments"
            )
        self._detached |= {identifier}

    def own_words(self, words: str) -> Prompt:
        """Create a prompt from the user's text and the editor's state.

        Raises:
            UserError: The text is too long.
        """
        words = taken_words(words)
        now = self._take()
        return Prompt(
            words=words, title=title_of(words), selection=now.selection, opened=now.opened
        )

    async def with_attached(
        self, params: protocol.PromptParams, workspace: Workspace | None
    ) -> Prompt:
        """Create a prompt from the user's text, the editor's state, and the attachments.

        Raises:
            UserError: The text is too long, or an attachment cannot be sent.
        """
        settings, roots = self._settings(), workspace.roots if workspace is not None else ()
        extra = Prompt(words="")
        if params.attachments:
            known = self._attention.all_problems()
            extra = await asyncio.to_thread(checked, params.attachments, known, roots, settings)
        if params.mentions and workspace is not None:
            wanted = tuple(map(mention_of, params.mentions))
            found = await attachments(workspace, settings, wanted, self._attention.names)
            if found.problems:
                raise UserError("; ".join(found.problems))
            extra = msgspec.structs.replace(extra, mentioned=found.files, folders=found.folders)
        await self.look()
        # This step comes last, because the prompt cannot be refused afterwards.
        prompt = self.own_words(params.text)
        return msgspec.structs.replace(
            extra,
            words=prompt.words,
            title=prompt.title,
            selection=prompt.selection,
            opened=prompt.opened,
        )

    def document(self, uri: str | None) -> Document:
        """Return the document of a code action.

        Raises:
            UserError: The document is not open.
        """
        wanted = uri or self._attention.opened_uri()
        document = self._documents.get(wanted) if wanted else None
        if document is None:
            raise UserError(f"{wanted or 'the document'} is not open in the editor; open it first")
        return document

    def task(
        self, task: Task, document: Document, arguments: protocol.TaskArguments, words: str
    ) -> Prompt:
        """Create the prompt of a code action.

        Raises:
            UserError: The text is too long.
        """
        words = taken_words(words)
        settings = self._settings()
        now = self._take()
        known = self._attention.problems(document.uri)
        problems = arguments.diagnostics or known
        if not settings.attach_diagnostics or self._attention.is_denied(document, settings):
            known = problems = ()
        selection: Selection | None = None
        # The file's name comes from the repository, so an unusual name is quoted in the prompt.
        place = named(self._attention.display(document))
        reported: tuple[Problem, ...] = ()
        if task == "fixAll":
            reported = touching_problems(known or problems, 0, document.body.n_lines)
        elif arguments.range is not None:
            note = ""
            if arguments.version is not None and arguments.version != document.version:
                note = "the document was changed since, so the lines may have moved"
            selection = self._attention.at(document, arguments.range, problems, settings, note=note)
            first, last = lines_of(arguments.range, document.body.n_lines)
            place += _lines_words(first + 1, last + 1)
            if selection is None:
                reported = touching_problems(problems, first, last)
        else:
            selection = now.selection
            if selection is not None:
                place = named(selection.path) + _lines_words(
                    selection.first_line, selection.last_line
                )
        return Prompt(
            words=task_words(task, place=place, words=words),
            title=f"{TITLES[task]}: {place}",
            selection=selection,
            opened=now.opened,
            problems=reported,
        )

    def _take(self) -> PromptAttachments:
        """Return the attachments for a prompt; the list of detached parts is reset."""
        now = self.attached()
        self._detached = frozenset()
        return now


def selection_id(selection: Selection) -> str:
    """Return an id that stays the same for the same text at the same position."""
    place = f"{selection.path}\0{selection.first_line}\0{selection.last_line}\0{selection.text}"
    return f"selection-{_digest(place)}"


def opened_id(opened: OpenedFile) -> str:
    """Return an id that stays the same for the same open file."""
    return f"opened-{_digest(opened.path)}"


def words_of(attached: PromptAttachments) -> tuple[str, str]:
    """Return the texts of the opened file and of the selection that the model would read."""
    return (
        opened_words(attached.opened) if attached.opened else "",
        selection_words(attached.selection) if attached.selection else "",
    )


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _lines_words(first: int, last: int) -> str:
    return f", line {first}" if first == last else f", lines {first}-{last}"
