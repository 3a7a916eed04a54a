"""The parts of a shell text: simple commands, redirects, options, and the folder of each. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from indwell.policy.shell.words import HOME, STAR, UNKNOWN, Word


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


AT_START: tuple[str, ...] = ("",)
"""The folder in which the whole text runs; others are relative to it, or absolute."""

_MOST = 4  # folders at once; more are unknown
_CHANGING = frozenset(["cd", "pushd", "popd"])


def after_cd(simple: Simple) -> tuple[str, ...]:
    """Where what follows a command may run; empty if that is not known."""
    if not simple.words or not _CHANGING.intersection(simple.words[0].options):
        return simple.folders
    words = [word for word in simple.words[1:] if word.text not in {"--", "-P", "-L", "-e"}]
    if simple.words[0].text != "cd" or len(words) != 1 or not simple.words[0].is_literal:
        return () if words or simple.words[0].text != "cd" else (HOME,)
    (word,) = words
    if len(word.options) > 1 or word.splits or UNKNOWN in word.text or STAR in word.text:
        return ()
    if word.text in {"-", ""}:
        return ()
    found = tuple(dict.fromkeys(joined(folder, word.text) for folder in simple.folders))
    return found if len(found) <= _MOST else ()


def either(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """All folders of both; unknown if one is, or if they are too many."""
    if one == other:
        return one
    both = tuple(dict.fromkeys((*one, *other))) if one and other else ()
    return both if len(both) <= _MOST else ()


def joined(folder: str, path: str) -> str:
    """A path as seen from a folder, without ``.`` and ``..`` where they can be taken out."""
    whole = path if path.startswith(("/", HOME)) or not folder else f"{folder}/{path}"
    if HOME in whole:
        return HOME + posixpath.normpath("/" + whole.partition(HOME)[2]) if "/" in whole else whole
    normal = posixpath.normpath(whole) if whole else ""
    return normal[1:] if normal.startswith("//") else normal


class Options(msgspec.Struct, frozen=True):
    """The options that a program may be given without a question.

    Attributes:
        short: Letters without a value.
        valued: Letters with a value, behind them or in the next word.
        long: Names without ``--``, none or with an optional value behind ``=``.
        long_valued: Names with a value.
        has_numbers: ``-20`` is an option.
    """

    short: str = ""
    valued: str = ""
    long: frozenset[str] = frozenset()
    long_valued: frozenset[str] = frozenset()
    has_numbers: bool = False


class ParsedOptions(msgspec.Struct, frozen=True):
    """Options and operands of a command.

    Attributes:
        options: Names (letters with one hyphen, others with two) and values.
        operands: All other words.
    """

    options: tuple[tuple[str, str], ...]
    operands: tuple[Word, ...]

    def has(self, *names: str) -> bool:
        """Is one of these options given?"""
        return any(name in names for name, _ in self.options)

    def values(self, *names: str) -> tuple[str, ...]:
        """The values of these options."""
        return tuple(value for name, value in self.options if name in names)


class UnknownOption(Exception):
    """An option that is not known to be harmless.

    Args:
        name: It, as it stands there.
    """


def names(text: str) -> frozenset[str]:
    """Names that stand in a text with blanks between."""
    return frozenset(text.split())


def options(short: str = "", valued: str = "", long: str = "", long_valued: str = "") -> Options:
    """Options from words with blanks between; ``#`` in ``short`` stands for numbers."""
    return Options(
        short.replace("#", ""),
        valued,
        frozenset(long.split()),
        frozenset(long_valued.split()),
        has_numbers="#" in short,
    )


def given(words: Sequence[Word], known: Options, *, permutes: bool = True) -> ParsedOptions:
    """Sort the words behind a program's name.

    Args:
        words: They.
        known: What the program knows.
        permutes: Options may stand behind operands.

    Raises:
        UnknownOption: One is not known, or a word may be one.
    """
    found: list[tuple[str, str]] = []
    operands: list[Word] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word.is_literal and word.text == "--":
            operands += words[at:]
            break
        if not word.could_be_option or word.text == "-":
            operands.append(word)
            if not permutes:
                operands += words[at:]
                break
            continue
        if not word.is_literal:
            raise UnknownOption(word.source)
        at += _take(word.text, words[at:], known, found)
    return ParsedOptions(tuple(found), tuple(operands))


def _take(text: str, behind: Sequence[Word], known: Options, found: list[tuple[str, str]]) -> int:
    """Take one word with options; gives the number of words behind it that are its value."""
    if text.startswith("--"):
        return _take_name(text, behind, known, found)
    if known.has_numbers and text[1:].isdecimal():
        found.append(("-#", text[1:]))
        return 0
    for at, letter in enumerate(text[1:], start=1):
        if letter in known.short:
            found.append((f"-{letter}", ""))
        elif letter in known.valued:
            if text[at + 1 :]:
                found.append((f"-{letter}", text[at + 1 :]))
                return 0
            found.append((f"-{letter}", _value(text, behind)))
            return 1
        elif known.has_numbers and letter.isdecimal():
            found.append(("-#", letter))
        else:
            raise UnknownOption(text)
    return 0


def _take_name(
    text: str, behind: Sequence[Word], known: Options, found: list[tuple[str, str]]
) -> int:
    name, equals, value = text[2:].partition("=")
    if name in known.long or (equals and name in known.long_valued):
        found.append((f"--{name}", value))
        return 0
    if name not in known.long_valued:
        raise UnknownOption(text)
    found.append((f"--{name}", _value(text, behind)))
    return 1


def _value(text: str, behind: Sequence[Word]) -> str:
    if not behind or not behind[0].is_literal:
        raise UnknownOption(text)
    return behind[0].text
