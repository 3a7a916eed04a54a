"""What a turn begins with: the user's words, within limits, and what goes with them."""

from __future__ import annotations

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


class Prompt(msgspec.Struct, frozen=True):
    """What the user asks for, with what the editor showed at that moment.

    Attributes:
        words: The user's own, or those of a code action.
        title: A few words for progress and lists.
        selection: What is marked, if anything that should be sent.
        opened: The file the user looks at, if it should be sent.
        problems: Diagnostics that the words are about and no selection carries.
        mentioned: Lines of files that the user named among the words.
        folders: Listings of folders that they named.
        texts: That they attached.
        reported: Problems that they attached.
        pictures: That they attached.
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

    @property
    def n_characters(self) -> int:
        """Of words and texts; pictures are apart."""
        return len(self.words) + sum(len(one.text) for one in self.texts)


def labels(prompt: Prompt) -> tuple[str, ...]:
    """What goes with a prompt, a few words each."""
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
    return tuple(found)


def _counted(reported: FileProblems) -> str:
    n = len(reported.problems)
    return f"{n} problem{'s' if n != 1 else ''} in {reported.path}"


MOST_CHARACTERS = 1_000_000
"""Of one prompt: some 250,000 tokens, as much as the largest windows that are common.

More would also hold the event loop up: it is logged, told to the editor and counted (5,000,000
characters took 100 ms).
"""

MOST_WAITING = 50  # prompts, or words for the running turn; more than anybody reads again
MOST_WAITING_CHARACTERS = (
    2_000_000  # of all of them: an event has them all (the wire ends at 32 MB)
)


def is_blank(words: str) -> bool:
    """Is there nothing in ``words``? Unlike ``strip`` this does not read a long text to its end."""
    return not words or words.isspace()


def taken_words(words: str) -> str:
    """``words`` as they can be logged and sent: half a character, alone, becomes U+FFFD.

    Raises:
        UserError: There are too many.
    """
    if len(words) > MOST_CHARACTERS:
        raise UserError(
            f"{len(words):,} characters are more than the {MOST_CHARACTERS:,} that a message may "
            "have; put the text into a file of the workspace, and name the file"
        )
    return scalar_text(words)


CONTINUE = "/continue"
NOTHING = "there is no conversation yet to continue"
_WORDS = (
    "Continue from where you stopped: Indwell ended while the turn before ran. Nothing was run "
    "again since. Look at what is done already before you repeat any of it."
)


def is_continue(words: str) -> bool:
    """Do these words ask to continue, and for nothing else?"""
    return len(words) < 3 * len(CONTINUE) and words.strip().lower() == CONTINUE


def told_words(words: str) -> str:
    """What the model reads of the user's words."""
    return _WORDS if is_continue(words) else words
