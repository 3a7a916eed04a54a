"""The parts of a shell text, as pure data: simple commands, redirects, options, folders."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from indwell.files.spelling import HERE, System, is_absolute, slashed
from indwell.lazy_pattern import lazy_pattern
from indwell.policy.shell.words import HOME, STAR, UNKNOWN, Word


class Redirect(msgspec.Struct, frozen=True, gc=False):
    """A redirect of a shell command.

    Attributes:
        operator: The operator, such as ``>`` or ``<<<``.
        target: The file of the redirect, or None if there is no file.
        start: The beginning in the source, in bytes.
        end: The end in the source, exclusive.
    """

    operator: str
    target: Word | None
    start: int
    end: int


class Assignment(msgspec.Struct, frozen=True, gc=False):
    """An assignment ``NAME=value``; ``value`` is None for an array or an unknown value."""

    name: str
    value: Word | None


class Simple(msgspec.Struct, frozen=True):
    """A simple shell command: a program with arguments, without pipes and operators.

    Attributes:
        words: Program and arguments, or empty if there are only redirects or assignments.
        redirects: The redirects in source order.
        assignments: The assignments before the program.
        start: The beginning in the source, in bytes.
        end: The end in the source, exclusive.
        folders: Folders in which the command may run, absolute or relative to the text's folder, or
            empty if unknown.
        is_nested: Whether the output becomes words of another command.
        input: Texts of here-documents and here-strings.
        is_piped: Whether the command reads the output of another command.
        is_bare: Whether there is only a redirect, such as ``> file``.
        upstream: In PowerShell, the words of the commands whose objects this command reads.
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
    upstream: tuple[Word, ...] = ()


class Oddity(msgspec.Struct, frozen=True, gc=False):
    """A construct that the parser does not understand, or that does more than run programs.

    Attributes:
        reason: A clause for people.
        start: The beginning in the source, in bytes.
        end: The end in the source, exclusive.
        is_hard: Whether the construct needs a question regardless of patterns and sandbox.
        texts: Shell texts that the construct runs, which are judged as well.
    """

    reason: str
    start: int
    end: int
    is_hard: bool
    texts: tuple[str, ...] = ()


Item: TypeAlias = Simple | Oddity


AT_START: tuple[str, ...] = ("",)
"""The folder in which the whole text runs; other folders are relative to this folder, or absolute.
"""

_MOST = 4  # A command has at most 4 possible folders; with more, the folder is unknown.
_CHANGING = frozenset(["cd", "pushd", "popd"])


def after_cd(simple: Simple) -> tuple[str, ...]:
    """Return the folders in which the next commands may run, or an empty tuple if unknown."""
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
    """Return the folders of both branches; unknown if one is unknown, or if there are too many."""
    if one == other:
        return one
    both = tuple(dict.fromkeys((*one, *other))) if one and other else ()
    return both if len(both) <= _MOST else ()


def joined(folder: str, path: str, system: System = HERE) -> str:
    """Return a path relative to a folder, with ``.`` and ``..`` removed where possible."""
    is_whole = path.startswith(("/", HOME)) or not folder
    if system == "win32":
        path = slashed(path, system)
        is_whole = is_whole or is_absolute(path, system)
    whole = path if is_whole else f"{folder}/{path}"
    if HOME in whole:
        return HOME + posixpath.normpath("/" + whole.partition(HOME)[2]) if "/" in whole else whole
    # On Windows, nothing is above the root of a drive.
    if system == "win32" and whole[1:3] == ":/":
        return whole[:2] + posixpath.normpath(f"/{whole[3:].lstrip('/')}")
    normal = posixpath.normpath(whole) if whole else ""
    return normal[1:] if normal.startswith("//") and system != "win32" else normal


_ELSEWHERE = lazy_pattern(r"/|[A-Za-z]:(?!/)|\w{2,}:/")


def powershell_path(path: str) -> str:
    r"""Return a path with ``/`` as the only separator, or ``UNKNOWN`` if its target is unclear.

    The target is unknown for a path of another machine, of the current drive (``\a``), relative to
    a drive's folder (``C:a``), or on a drive that is not a disk (``HKLM:\``).
    """
    plain = path.replace("\\", "/")
    return f"/{UNKNOWN}{plain}" if _ELSEWHERE.match(plain) else plain


class Options(msgspec.Struct, frozen=True):
    """The options that a program may have without a question.

    Attributes:
        short: Letters without a value.
        valued: Letters with a value, attached or in the next word.
        long: Names without ``--``; they have no value, or an optional value after ``=``.
        long_valued: Names with a value.
        has_numbers: Whether ``-20`` is an option.
    """

    short: str = ""
    valued: str = ""
    long: frozenset[str] = frozenset()
    long_valued: frozenset[str] = frozenset()
    has_numbers: bool = False


class ParsedOptions(msgspec.Struct, frozen=True):
    """The options and operands of a command.

    Attributes:
        options: Names (letters with one hyphen, others with two) with values.
        operands: All other words.
    """

    options: tuple[tuple[str, str], ...]
    operands: tuple[Word, ...]

    def has(self, *names: str) -> bool:
        """Return whether one of these options is given."""
        return any(name in names for name, _ in self.options)

    def values(self, *names: str) -> tuple[str, ...]:
        """Return the values of these options."""
        return tuple(value for name, value in self.options if name in names)


class UnknownOption(Exception):
    """An option that is not known to be harmless.

    Args:
        name: The option as written.
    """


def names(text: str) -> frozenset[str]:
    """Return the names in a text, which are separated by blanks."""
    return frozenset(text.split())


def given(words: Sequence[Word], known: Options, *, permutes: bool = True) -> ParsedOptions:
    """Sort the words after a program's name into options and operands.

    Args:
        words: The words.
        known: The options of the program.
        permutes: Whether options may follow operands.

    Raises:
        UnknownOption: An option is unknown, or a word may be one.
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
    """Read one word with options; return how many of the following words are option values."""
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
