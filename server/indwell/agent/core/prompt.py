"""A prompt: the user's words, within limits, and the context that goes with them."""

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
        words: The user's words, or those of a code action.
        title: A few words for progress and lists.
        selection: The selected text, if the selection should be sent.
        opened: The file in the active editor, if the file should be sent.
        problems: Diagnostics that the words are about, unless the selection carries them.
        mentioned: Lines of files that the user mentioned in the words.
        folders: Listings of folders that the user mentioned.
        texts: Texts that the user attached.
        reported: Problems of files that the user attached.
        pictures: Pictures that the user attached.
        changes: Whether the user attached git's changes, without ``@changes`` in the words.
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
        """Characters of the words and the attached texts, without pictures."""
        return len(self.words) + sum(len(one.text) for one in self.texts)


def labels(prompt: Prompt) -> tuple[str, ...]:
    """A label of a few words for each attachment of a prompt."""
    found = []
    if prompt.selection is not None:
        marked = prompt.selection
        found.append(f"{marked.path}:{marked.first_line}-{marked.last_line}")
    found += [f"{one.path}:{one.first_line}-{one.last_line}" for one in prompt.mentioned]
    if prompt.problems:
        found.append(f"{len(prompt.problems)} problems")
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
"""The most characters of one prompt: 250,000 tokens, as many as the largest common windows.

A longer prompt would also block the event loop: logging, sending and counting 5,000,000 characters
took 100 ms.
"""

# The most prompts that may wait, or messages to the running turn.
MOST_WAITING = 50
MOST_WAITING_CHARACTERS = (
    # Characters of all waiting prompts; one event holds them all, and a message may have 32 MB.
    2_000_000
)


def is_blank(words: str) -> bool:
    """Is ``words`` empty or white space? ``strip`` would read all of a long text."""
    return not words or words.isspace()


def taken_words(words: str) -> str:
    """Return ``words`` in a form that can be logged and sent: a lone surrogate becomes U+FFFD.

    Raises:
        UserError: The words are too long.
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
_OWN_WORDS = 2_000  # characters; a longer text was usually pasted, not typed


def asks_for_changes(words: str) -> bool:
    """Does a sentence of the words ask to change files? Only English is recognised."""
    return _ASKS_FOR_CHANGES.search(words.strip()[:_OWN_WORDS]) is not None


CONTINUE = "/continue"
NOTHING = "there is no conversation yet to continue"
_WORDS = (
    "Continue from where you stopped: Indwell ended while the turn before ran. Nothing was run "
    "again since. Look at what is done already before you repeat any of it."
)


def is_continue(words: str) -> bool:
    """Are these words exactly the command to continue?"""
    return len(words) < 3 * len(CONTINUE) and words.strip().lower() == CONTINUE


def told_words(words: str) -> str:
    """The words that the model reads in place of the user's words."""
    return _WORDS if is_continue(words) else words
