"""Defines a prompt: the user's text, within limits, and the context sent with it."""

from __future__ import annotations

import re

import msgspec

from indwell.context.attachments import (
    FileProblems,
    Listing,
    NamedPicture,
    OpenedFile,
    PastedText,
    Problem,
    Selection,
)
from indwell.context.untrusted_text import scalar_text
from indwell.errors import UserError
from indwell.lazy_pattern import lazy_pattern


class Prompt(msgspec.Struct, frozen=True):
    """The user's prompt, with what the editor showed at that moment.

    Attributes:
        words: The user's text, or the text of a code action.
        title: A short title for progress and lists.
        selection: The selected text, if the selection should be sent.
        opened: The file in the active editor, if the file should be sent.
        problems: The diagnostics that the text refers to, if the selection does not contain them.
        mentioned: Lines of files that the user mentioned in the text.
        folders: Listings of folders that the user mentioned.
        texts: Texts that the user attached.
        reported: Problems of files that the user attached.
        pictures: Pictures that the user attached.
        changes: Whether the user attached git's changes without writing ``@changes``.
    """

    words: str
    title: str = ""
    selection: Selection | None = None
    opened: OpenedFile | None = None
    problems: tuple[Problem, ...] = ()
    mentioned: tuple[Selection, ...] = ()
    folders: tuple[Listing, ...] = ()
    texts: tuple[PastedText, ...] = ()
    reported: tuple[FileProblems, ...] = ()
    pictures: tuple[NamedPicture, ...] = ()
    changes: bool = False

    @property
    def n_characters(self) -> int:
        """The number of characters in the text and the attached texts, without pictures."""
        return len(self.words) + sum(len(one.text) for one in self.texts)


def names_other_files(prompt: Prompt, name: str) -> bool:
    """Return whether a prompt names files, but not the file with this displayed name.

    Attached texts count, and so does the name of the file in the user's text. A prompt without any
    attached file leaves the choice of files to the agent.
    """
    attached = {one.path for one in prompt.mentioned} | {one.path for one in prompt.reported}
    if prompt.selection is not None:
        attached.add(prompt.selection.path)
    folders = {one.path.rstrip("/") for one in prompt.folders}
    if not attached and not folders:
        return False
    if prompt.opened is not None:
        attached.add(prompt.opened.path)
    is_beneath = any(one in {"", "."} or name.startswith(f"{one}/") for one in folders)
    return name not in attached and not is_beneath and name.rpartition("/")[2] not in prompt.words


def labels(prompt: Prompt) -> tuple[str, ...]:
    """Return a label of a few words for each attachment of a prompt."""
    found = []
    if prompt.selection is not None:
        marked = prompt.selection
        found.append(f"{marked.path}:{marked.first_line}-{marked.last_line}")
    found += [f"{one.path}:{one.first_line}-{one.last_line}" for one in prompt.mentioned]
    if prompt.problems:
        n_problems = len(prompt.problems)
        found.append("1 problem" if n_problems == 1 else f"{n_problems} problems")
    found += [one.path for one in prompt.folders]
    found += [_counted(one) for one in prompt.reported]
    found += [one.label for one in prompt.texts]
    found += [one.label for one in prompt.pictures]
    found += ["changes"] if prompt.changes else []
    return tuple(found)


def _counted(reported: FileProblems) -> str:
    n = len(reported.problems)
    return f"{n} problem{'s' if n != 1 else ''} in {reported.path}"


MOST_CHARACTERS = 1_000_000
"""The limit of characters for one prompt: 250,000 tokens, as in the largest common windows.

A longer prompt would also block the event loop: logging, sending and counting 5,000,000 characters
took 100 ms.
"""

# The limit of queued prompts, and of messages to the running turn.
MOST_WAITING = 50
MOST_WAITING_CHARACTERS = (
    # The limit of characters for all queued prompts. One event contains them all, and a message may
    # have 32 MB.
    2_000_000
)


def is_blank(words: str) -> bool:
    """Return whether ``words`` is empty or blank; ``strip`` would read all of a long text."""
    return not words or words.isspace()


def taken_words(words: str) -> str:
    """Return ``words`` with each lone surrogate replaced, so that the text can be encoded.

    Raises:
        UserError: The text is too long.
    """
    if len(words) > MOST_CHARACTERS:
        raise UserError(
            f"{len(words):,} characters are more than the {MOST_CHARACTERS:,} that a message may "
            "have; put the text into a file of the workspace, and name the file"
        )
    return scalar_text(words)


_ASKS_FOR_CHANGES = lazy_pattern(
    r"(?:^|[.!?:]\s+|\n)(?:[-*]\s+)?(?:please |now |can you |could you )?(?:add|change|convert"
    r"|correct|create|delete|document|drop|extract|fix|implement|inline|make|mend|move|refactor"
    r"|remove|rename|repair|replace|rewrite|set|simplify|split|update|write)\b",
    re.IGNORECASE,
)
_OWN_WORDS = 2_000  # the limit of characters for typed text; a longer text was usually pasted


def asks_for_changes(words: str) -> bool:
    """Return whether a sentence asks to change files; only English is recognised."""
    return _ASKS_FOR_CHANGES.search(words.strip()[:_OWN_WORDS]) is not None


CONTINUE = "/continue"
NOTHING = "there is no conversation yet to continue"
_WORDS = (
    "Continue from where you stopped: Indwell ended while the turn before ran. Nothing was run "
    "again since. Look at what is done already before you repeat any of it."
)


def is_continue(words: str) -> bool:
    """Return whether the user's text is exactly the command to continue."""
    return len(words) < 3 * len(CONTINUE) and words.strip().lower() == CONTINUE


def told_words(words: str) -> str:
    """Return the text that the model reads in place of the user's text."""
    return _WORDS if is_continue(words) else words
