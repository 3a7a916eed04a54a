"""What goes with the user's words: the selection, the opened file, problems; as they are now.

A prompt is made at the moment it is typed or chosen, also when it has to wait for its turn.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable

import msgspec

from indwell.agent.prompt import Prompt
from indwell.agent.words import taken_words
from indwell.context.attachments import (
    OpenedFile,
    Problem,
    Selection,
    opened_words,
    selection_words,
)
from indwell.errors import UserError
from indwell.lsp import protocol
from indwell.lsp.attachments import checked
from indwell.lsp.attention import Attention, lines_of, touching_problems
from indwell.lsp.documents import Document, Documents
from indwell.prompt.tasks import TITLES, Task, named, task_words
from indwell.service.mentions.attaching import attachments
from indwell.service.mentions.mentions import mention_of
from indwell.service.turns.queue import title_of
from indwell.settings.model import Settings
from indwell.workspace.base import Workspace


class Attached(msgspec.Struct, frozen=True):
    """What would go with the next prompt."""

    selection: Selection | None = None
    opened: OpenedFile | None = None


class Prompting:
    """Makes prompts from what the editor shows.

    Args:
        documents: The open documents.
        attention: What the user looks at and has marked.
        settings: Those in force.
    """

    def __init__(
        self, documents: Documents, attention: Attention, settings: Callable[[], Settings]
    ) -> None:
        self._documents = documents
        self._attention = attention
        self._settings = settings
        self._detached: frozenset[str] = frozenset()

    async def look(self, *also: Document) -> None:
        """Look at what may go along, and ``also``; what is asked next goes by what was seen."""
        await self._attention.look(self._settings(), *also)

    def attached(self) -> Attached:
        """What goes with the next prompt, less what the user has detached."""
        settings = self._settings()
        selection = self._attention.selection(settings)
        opened = self._attention.opened(settings)
        return Attached(
            selection if selection and selection_id(selection) not in self._detached else None,
            opened if opened and opened_id(opened) not in self._detached else None,
        )

    def detach(self, identifier: str) -> None:
        """Leave a piece out of the next prompt.

        Raises:
            UserError: It is not attached.
        """
        now = self.attached()
        ids = {selection_id(now.selection)} if now.selection else set()
        ids |= {opened_id(now.opened)} if now.opened else set()
        if identifier not in ids:
            raise UserError(
                f"nothing with the id {identifier!r} is attached; indwell/context lists what is"
            )
        self._detached |= {identifier}

    def own_words(self, words: str) -> Prompt:
        """The user's own words with what the editor shows.

        Raises:
            UserError: There are too many.
        """
        words = taken_words(words)
        now = self._take()
        return Prompt(
            words=words, title=title_of(words), selection=now.selection, opened=now.opened
        )

    async def with_attached(
        self, params: protocol.PromptParams, workspace: Workspace | None
    ) -> Prompt:
        """The user's own words with what the editor shows, and with all that goes along.

        Raises:
            UserError: There are too many words, or something cannot go along.
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
        prompt = self.own_words(params.text)  # last: from here nothing is refused any more
        return msgspec.structs.replace(
            extra,
            words=prompt.words,
            title=prompt.title,
            selection=prompt.selection,
            opened=prompt.opened,
        )

    def document(self, uri: str | None) -> Document:
        """The document of a task.

        Raises:
            UserError: It is not open.
        """
        wanted = uri or self._attention.opened_uri()
        document = self._documents.get(wanted) if wanted else None
        if document is None:
            raise UserError(f"{wanted or 'the document'} is not open in the editor; open it first")
        return document

    def task(
        self, task: Task, document: Document, arguments: protocol.TaskArguments, words: str
    ) -> Prompt:
        """The prompt of a code action.

        Raises:
            UserError: There are too many words.
        """
        words = taken_words(words)
        settings = self._settings()
        now = self._take()
        known = self._attention.problems(document.uri)
        problems = arguments.diagnostics or known
        if not settings.attach_diagnostics or self._attention.is_denied(document, settings):
            known = problems = ()
        selection: Selection | None = None
        # The name is the repository's, the words are the user's: an odd name stands in quotes.
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

    def _take(self) -> Attached:
        """What is attached; detaching held for this prompt only."""
        now = self.attached()
        self._detached = frozenset()
        return now


def selection_id(selection: Selection) -> str:
    """Stable as long as the same text of the same place is marked."""
    place = f"{selection.path}\0{selection.first_line}\0{selection.last_line}\0{selection.text}"
    return f"selection-{_digest(place)}"


def opened_id(opened: OpenedFile) -> str:
    """Stable as long as the same file is looked at."""
    return f"opened-{_digest(opened.path)}"


def words_of(attached: Attached) -> tuple[str, str]:
    """The bodies that the model would read: of the opened file and of the selection."""
    return (
        opened_words(attached.opened) if attached.opened else "",
        selection_words(attached.selection) if attached.selection else "",
    )


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _lines_words(first: int, last: int) -> str:
    return f", line {first}" if first == last else f", lines {first}-{last}"
