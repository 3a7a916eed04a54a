"""Options of programs, by what is known of each: what is not listed is not known."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from indwell.policy.commands.words import Word


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


class Given(msgspec.Struct, frozen=True):
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


def given(words: Sequence[Word], known: Options, *, permutes: bool = True) -> Given:
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
    return Given(tuple(found), tuple(operands))


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
