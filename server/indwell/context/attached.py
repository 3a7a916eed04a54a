"""What the user attaches to a prompt: pictures, texts, listings of folders, problems. Pure.

All of it is data of tier 2, whoever wrote it: a terminal, a web page, a language server.
"""

from __future__ import annotations

import msgspec

from indwell.context.ide import Problem, problem_lines
from indwell.context.injections import inject
from indwell.context.pictures import attached_picture
from indwell.messages import Block

FILES_LIMIT = 30  # with problems that are listed at once


class Picture(msgspec.Struct, frozen=True):
    """A picture with the name that people know it by; ``data`` is base64."""

    label: str
    media_type: str
    data: str


class PastedText(msgspec.Struct, frozen=True):
    """A text from a terminal, or pasted."""

    label: str
    text: str


class Listing(msgspec.Struct, frozen=True):
    """Names of the files below a folder; ``n_more`` are not named."""

    path: str
    names: tuple[str, ...]
    n_more: int = 0


class FileProblems(msgspec.Struct, frozen=True):
    """What is wrong in one file, as the editor reports it."""

    path: str
    problems: tuple[Problem, ...]


def picture_blocks(pictures: tuple[Picture, ...], *, turn: int) -> tuple[Block, ...]:
    """Each picture, behind a word that says which it is."""
    blocks: list[Block] = []
    for number, one in enumerate(pictures, start=1):
        words = f"Picture {number} of {len(pictures)} that the user attached stands below."
        blocks.append(inject("attached", words, turn=turn, attributes={"name": one.label}))
        blocks.append(attached_picture(one.label, one.media_type, one.data, turn=turn))
    return tuple(blocks)


def listing_words(listing: Listing) -> str:
    """The body of ``<mentioned-file>`` for a folder."""
    head = f"The user mentioned the folder {listing.path!r}. Files in it, ignored ones aside:"
    more = (f"… and {listing.n_more:,} more",) if listing.n_more else ()
    return "\n".join((head, *(listing.names or ("(none)",)), *more))


def reported_words(reported: tuple[FileProblems, ...]) -> str:
    """The body of ``<ide_diagnostics>`` for several files."""
    parts = [f"{one.path}:\n{problem_lines(one.problems)}" for one in reported[:FILES_LIMIT]]
    n_more = len(reported) - FILES_LIMIT
    return "\n".join((*parts, *((f"… and {n_more} more files",) if n_more > 0 else ())))
