"""What a turn begins with: the user's words, and what goes with them."""

from __future__ import annotations

import msgspec

from indwell.context.attachments import (
    FileProblems,
    Listing,
    OpenedFile,
    PastedText,
    Picture,
    Problem,
    Selection,
)


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
    pictures: tuple[Picture, ...] = ()

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
