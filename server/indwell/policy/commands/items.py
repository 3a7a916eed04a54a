"""What a shell text is made of, as it is judged: simple commands, redirects and oddities."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from indwell.policy.commands.words import Word


class Redirect(msgspec.Struct, frozen=True, gc=False):
    """A redirect.

    Attributes:
        operator: Such as ``>`` or ``<<<``.
        target: Where to or from; none if it has none that is a file.
        start: Where it begins in the source, in bytes.
        end: Where it ends, exclusive.
    """

    operator: str
    target: Word | None
    start: int
    end: int


class Assignment(msgspec.Struct, frozen=True, gc=False):
    """``NAME=value``; ``value`` is none if it is an array or cannot be known."""

    name: str
    value: Word | None


class Simple(msgspec.Struct, frozen=True):
    """A simple command.

    Attributes:
        words: Program and arguments; empty if it only redirects or assigns.
        redirects: In the order of the source.
        assignments: Those in front of it.
        start: Where it begins in the source, in bytes.
        end: Where it ends, exclusive.
        folders: Where it may run, absolute or relative to where the whole runs; empty if that is
            not known.
        is_nested: Its output becomes words of another.
        input: Texts that it is fed: here-documents and here-strings.
        is_piped: It reads what another command writes.
        is_bare: It is a redirect and nothing else, such as ``> file``.
    """

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]
    assignments: tuple[Assignment, ...]
    start: int
    end: int
    folders: tuple[str, ...]
    is_nested: bool = False
    input: tuple[str, ...] = ()
    is_piped: bool = False
    is_bare: bool = False


class Oddity(msgspec.Struct, frozen=True, gc=False):
    """A construct that is not understood, or does more than run programs.

    Attributes:
        reason: Half a sentence for people.
        start: Where it begins in the source, in bytes.
        end: Where it ends, exclusive.
        is_hard: No pattern and no sandbox makes it good enough to run without a question.
        texts: Shell texts that it runs, to be judged as well.
    """

    reason: str
    start: int
    end: int
    is_hard: bool
    texts: tuple[str, ...] = ()


Item: TypeAlias = Simple | Oddity
