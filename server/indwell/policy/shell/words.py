"""The words of a command as bash would expand them, with placeholders for unknown text. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from indwell.files.spelling import HERE, System, without_drive
from indwell.lazy_pattern import lazy_pattern

MOST_OPTIONS = 16  # A word with more than 16 values, by braces and loops, is unknown.

_SEGMENT = lazy_pattern(
    r"""(?P<raw>'[^']*')
    |(?P<text>"(?:[^"\\$`\x00]|\\.|\$(?![\w{(\[*@#?$!-]))*")
    |(?P<mixed>"(?:[^"\\`]|\\.)*")
    |(?P<escape>\\.)
    |(?P<plain>[\w./:=@%+,^#!-]+)
    |(?P<dollar>\$(?![\w{(\[*@#?$!'"-]))
    |(?P<wild>\*+|\?)
    |(?P<set>\[[!^]?\]?[\w./:=@%+,^!*?-]*\])
    |(?P<bracket>[\[\]])
    |(?P<home>~)
    |(?P<brace>[{}])
    |(?P<value>\$\w+|\$[?#$!@*-]|\$\{\w+\})
    |(?P<harmless>\$\{\#?[A-Za-z_]\w*(?:\[[@*]\])?
        (?::?-[\w./:=@%+,\ -]*|[\#%]{1,2}[\w./:=@%+,*?\[\]-]*|:\ ?\d+(?::\d+)?|,,?|\^\^?
        |//?[\w./:=@%+,*?-]*(?:/[\w.:=@%+,-]*)?)?\})
    |(?P<unknown>\x00)
    |(?P<other>[^\x00-\x7f])""",
    re.DOTALL | re.VERBOSE,
)
_IN_TEXT = lazy_pattern(
    r"""(?P<literal>(?:[^\\$`\x00]|\$(?![\w{(\[*@#?$!-]))+)
    |(?P<escape>\\.)
    |(?P<value>\$\w+|\$[?#$!@*-]|\$\{\w+\})
    |(?P<harmless>\$\{\#?[A-Za-z_]\w*(?:\[[@*]\])?
        (?::?-[\w./:=@%+,\ -]*|[\#%]{1,2}[\w./:=@%+,*?\[\]-]*|:\ ?\d+(?::\d+)?|,,?|\^\^?
        |//?[\w./:=@%+,*?-]*(?:/[\w.:=@%+,-]*)?)?\})
    |(?P<unknown>\x00)""",
    re.DOTALL | re.VERBOSE,
)
_BRACES = lazy_pattern(r"\{([^{}\x00]*,[^{}\x00]*)\}")
_ALONE = frozenset(["[", "]", "[[", "]]"])
_NAME = lazy_pattern(r"\w+")
_SPLITS = lazy_pattern(r"[\s*?\[\x00\x02]")


class Word(msgspec.Struct, frozen=True, gc=False):
    """A word of a shell command.

    Attributes:
        source: The word as the command contains it.
        options: The possible expansions; each may contain ``UNKNOWN``, ``HOME`` and ``STAR``.
        splits: Whether the word may expand to no word or to several words.
    """

    source: str
    options: tuple[str, ...]
    splits: bool = False

    @property
    def text(self) -> str:
        """The first possible expansion."""
        return self.options[0]

    @property
    def is_literal(self) -> bool:
        """Return whether the word has exactly one known expansion."""
        return len(self.options) == 1 and not self.splits and not has_marks(self.options[0])

    @property
    def is_known(self) -> bool:
        """Return whether the word is known except for wildcards and the home folder."""
        return not any(UNKNOWN in one for one in self.options)

    @property
    def could_be_option(self) -> bool:
        """Return whether the word could begin with a hyphen."""
        return any(one[:1] in {"-", STAR, UNKNOWN} for one in self.options)


class UnreadableWord(Exception):
    """A word has an unknown form, or bash would run or change something to expand the word.

    Args:
    why: A clause for people.
    """


def has_marks(text: str) -> bool:
    """Return whether a text contains something that is known only at run time."""
    return UNKNOWN in text or STAR in text or HOME in text


def word_of(source: str, shown: str, values: Mapping[str, tuple[str, ...]]) -> Word:
    """Read a word.

    Args:
        source: The word, with ``UNKNOWN`` in place of substitutions.
        shown: The word as written in the command.
        values: The possible values of variables.

    Raises:
        UnreadableWord: The word contains a construct that may be harmful.
    """
    if _NAME.fullmatch(source):
        return Word(shown, (source,))
    options, splits, has_braces = [""], False, False
    at = 0
    while at < len(source):
        found = _SEGMENT.match(source, at)
        if found is None:
            raise UnreadableWord(_why(source[at:]))
        texts, may_split = _segment(found, values)
        has_braces |= found.lastgroup == "brace"
        splits |= may_split
        options = _product(options, texts)
        at = found.end()
    if has_braces:
        return _in_full(source, shown, options, splits=splits)
    return Word(shown, tuple(dict.fromkeys(options)), splits)


def _segment(  # noqa: C901 - one case for each kind of piece
    found: re.Match[str], values: Mapping[str, tuple[str, ...]]
) -> tuple[list[str], bool]:
    """Return the expansion of a piece of a word, and whether bash splits it."""
    text = found[0]
    match found.lastgroup:
        case "raw":
            return [text[1:-1]], False
        case "text":
            return [re.sub(r"\\([\\\"$`\n])", _behind_backslash, text[1:-1])], False
        case "mixed":
            return _quoted(text[1:-1], values)
        case "escape":
            return ["" if text == "\\\n" else text[1]], False
        case "wild" | "set":
            return [STAR], False
        case "bracket":  # The piece is part of a set with quotes, or a lone `[`.
            return [text if found.string in _ALONE else STAR], False
        case "home":
            before, after = found.string[: found.start()], found.string[found.end() :]
            if not before and after[:1] not in {"", "/"}:
                raise UnreadableWord("names another user's home folder")
            return [HOME if before[-1:] in {"", "=", ":"} else "~"], False
        case "value":
            return _value(text, values)
        case "harmless" | "unknown":
            return [UNKNOWN], True
        case _:
            return [text], False


def _quoted(text: str, values: Mapping[str, tuple[str, ...]]) -> tuple[list[str], bool]:
    options, splits = [""], False
    at = 0
    while at < len(text):
        found = _IN_TEXT.match(text, at)
        if found is None:
            raise UnreadableWord(_why(text[at:]))
        texts = [found[0]]
        match found.lastgroup:
            case "escape":
                texts = [re.sub(r"\\([\\\"$`\n])", _behind_backslash, found[0])]
            case "value":
                texts = list(values.get(found[0].strip("${}"), (UNKNOWN,)))
                splits |= found[0] == "$@"
            case "harmless":
                texts = [UNKNOWN]
                splits |= "@" in found[0]
        options = _product(options, texts)
        at = found.end()
    return options, splits


def _value(text: str, values: Mapping[str, tuple[str, ...]]) -> tuple[list[str], bool]:
    known = values.get(text.strip("${}"))
    if known is None or not all(known) or any(_SPLITS.search(one) for one in known):
        # In a loop, wildcards are already names, so only blanks in the names split words.
        if known and all(known) and not any(re.search(r"[\s\x00]", one) for one in known):
            return list(known), True
        return [UNKNOWN], True
    return list(known), False


def _behind_backslash(found: re.Match[str]) -> str:
    return "" if found[1] == "\n" else found[1]


def _product(options: list[str], texts: list[str]) -> list[str]:
    if len(options) * len(texts) > MOST_OPTIONS:
        return [UNKNOWN]
    return [one + text for one in options for text in texts]


def _in_full(source: str, shown: str, options: list[str], *, splits: bool) -> Word:
    """Return the word with braces expanded; quoted texts beside braces stay unknown."""
    if source in {"{}", "{", "}"} or not re.search(r"\{.*(?:,|\.\.).*\}", source, re.DOTALL):
        return Word(shown, tuple(dict.fromkeys(options)), splits)
    found = _BRACES.search(source)
    rest = source[: found.start()] + source[found.end() :] if found else "{"
    if not found or re.search(r"[{}\"'\\$*?\[]", rest + found[1]):
        return Word(shown, (UNKNOWN,), splits=True)
    ways = found[1].split(",")
    if len(ways) > MOST_OPTIONS:
        return Word(shown, (UNKNOWN,), splits=True)
    full = (source[: found.start()] + way + source[found.end() :] for way in ways)
    return Word(shown, tuple(dict.fromkeys(full)), splits=True)


def _why(rest: str) -> str:
    if rest.startswith("${"):
        return "contains an expansion that can run or change things"
    if rest.startswith("$'"):
        return "is written in escapes"
    if rest.startswith(("$", "`")):
        return "contains an expansion that is not understood"
    return f"contains {rest[:1]!r}, which is not understood"


if TYPE_CHECKING:
    from tree_sitter import Node

UNKNOWN = "\0"
"""Represents text that is known only at run time: a substitution, a variable, a wildcard."""

HOME = "\1"
"""Represents the user's home folder: ``~`` or ``$HOME``."""

STAR = "\2"
"""Represents an unquoted wildcard."""

_EFFORT = 100_000  # The unit is characters; none of 1,600 real commands needs more than 69.
_BRACES_IN_WORD = lazy_pattern(r"\{([^{},]*,[^{}]*)\}")
_MOST_WORDS = 64  # A word with braces has at most 64 expansions.
_UNQUOTED = lazy_pattern(r"\\(\n)?(.?)|([*?])", re.DOTALL)
_ANSI = lazy_pattern(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))", re.DOTALL)
_ANSI_NAMES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f"}
_VARIABLE = lazy_pattern(r"\$\{?(\w+)")

# For each program that runs another: its options with a value, and the number of words before the
# program.
_WRAPPERS: Mapping[str, tuple[str, int]] = {
    "sudo": ("ugpCDhRrTtU", 0),
    "doas": ("uC", 0),
    "env": ("uC", 0),
    "command": ("", 0),
    "builtin": ("", 0),
    "exec": ("a", 0),
    "coproc": ("", 0),
    "nohup": ("", 0),
    "setsid": ("", 0),
    "nice": ("n", 0),
    "ionice": ("cnp", 0),
    "chrt": ("", 1),
    "time": ("fo", 0),
    "timeout": ("ks", 1),
    "stdbuf": ("ioe", 0),
    "xargs": ("InPLdsaE", 0),
    "busybox": ("", 0),
    "toybox": ("", 0),
    "!": ("", 0),
}


class Tangled(Exception):
    """The expansion of a command became too long for a person to understand."""


class Effort:
    """The remaining number of characters that parsing one command may produce.

    With nested variables, braces and texts, a line of 400 characters could fill the memory. Real
    commands stay far below the limit of tens of milliseconds.
    """

    def __init__(self) -> None:
        self._left = _EFFORT

    def spend(self, n: int) -> None:
        """Subtract ``n`` characters from those that may still be processed.

        Raises:
            Tangled: Too few characters are left.
        """
        self._left -= n
        if self._left < 0:
            raise Tangled


class Variables:
    """The known assignments of a text.

    Args:
        effort: The effort that each use of a variable reduces.
    """

    def __init__(self, effort: Effort) -> None:
        self.effort = effort
        self._values = {"HOME": HOME}

    def assign(self, name: str, value: str) -> None:
        """Assign ``value`` to ``name`` for the following commands."""
        self._values[name] = value

    def value_of(self, name: str) -> str:
        """Return the value of a variable.

        Raises:
            Tangled: The value is used too often, or is too long.
        """
        value = self._values.get(name, UNKNOWN)
        self.effort.spend(len(value))
        return value


def words_of(node: Node, variables: Variables) -> list[str]:
    """Return the expansion of a word of the source: one word, or several if it has braces.

    Args:
        node: The word.
        variables: The assignments of the same text.

    Raises:
        Tangled: The word expands to too much text.
    """
    if node.type == "concatenation":
        source = _source(node)
        if "{" in source and not re.search(r"[\"'$`\\]", source):
            return [_unquoted(one) for one in _whole_word(source, variables.effort)]
    return [_word_value(node, variables)]


def program_of(words: list[str]) -> list[str]:
    """Return a command without wrappers (``sudo``, ``env A=b``, …), beginning with its program.

    An unknown program may be a wrapper, too, and is left out of the result.
    """
    while words:
        name = posixpath.basename(words[0])
        if name not in _WRAPPERS and words[0].strip(UNKNOWN):
            return [name, *words[1:]]
        with_word, n_before = _WRAPPERS.get(name, ("", 0))
        words = _behind(words[1:], with_word, n_before)
    return []


def folder(path: str, cwd: str, system: System = HERE) -> str:
    """Return the folder of a path, without ``.``, ``..`` and a trailing wildcard.

    Args:
        path: A path from ``words_of``.
        cwd: The folder in which the command runs, in the same form, or empty if unknown.
        system: The system whose path it is. On Windows, the drive is left out.
    """
    path, cwd = without_drive(path, system), without_drive(cwd, system)
    if not path.startswith(("/", HOME)) and cwd:
        path = f"{cwd}/{path}"
    # A regular expression would take time that grows with the square of the wildcards.
    parts = re.sub("/+", "/", path).removesuffix("/").split("/")
    while len(parts) > 1 and STAR in parts[-1] and not parts[-1].strip(f"{STAR}."):
        parts.pop()
    normal = posixpath.normpath("/".join([*parts, ""])) if path else ""
    return "/" if normal == "//" else normal


def _behind(words: list[str], with_word: str, n_before: int) -> list[str]:
    """Return the words after a wrapper's options, assignments and own arguments."""
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if word.startswith("-") and len(word) > 1:
            at += 2 if len(word) == 2 and word[1] in with_word else 1  # noqa: PLR2004 - as in `-u`
        elif re.match(r"\w+=", word):
            at += 1
        else:
            break
    return words[at + n_before :]


def _source(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _word_value(node: Node, variables: Variables) -> str:
    match node.type:
        case "word" | "number" | "variable_name" | "command_name" if not node.named_children:
            return _unquoted(_source(node))
        case "command_name" | "concatenation" | "string" | "translated_string":
            # Blanks at the ends of a string are not nodes, and have no effect.
            return "".join(_word_value(child, variables) for child in node.named_children)
        case "raw_string":
            return _source(node)[1:-1]
        case "ansi_c_string":
            return _ANSI.sub(_ansi, _source(node)[2:-1])
        case "string_content":
            return re.sub(r'\\([\\"$`\n])', r"\1", _source(node))
        case "simple_expansion" | "expansion":
            found = _VARIABLE.match(_source(node))
            return variables.value_of(found[1]) if found else UNKNOWN
        case _:
            return UNKNOWN


def _unquoted(source: str) -> str:
    """Return a bare word without backslashes, and with placeholders for wildcards and ``~``."""
    text = _UNQUOTED.sub(lambda found: STAR if found[3] else found[2] or "", source)
    if text == "~" or text.startswith("~/"):
        return HOME + text[1:]
    return text


def _whole_word(source: str, effort: Effort) -> list[str]:
    """Return a whole word with braces expanded."""
    words = [source]
    while len(words) < _MOST_WORDS and (at := next(filter(_BRACES_IN_WORD.search, words), None)):
        found = _BRACES_IN_WORD.search(at)
        assert found is not None
        index = words.index(at)
        ways = found[1].split(",")
        effort.spend(len(ways) * (len(at) + 8) - len(found[1]) * (len(ways) - 1))
        words[index : index + 1] = [at[: found.start()] + one + at[found.end() :] for one in ways]
    return words


def _ansi(found: re.Match[str]) -> str:
    hexadecimal = found[1] or found[2]
    if hexadecimal:
        return chr(int(hexadecimal, 16))
    return chr(int(found[3], 8)) if found[3] else _ANSI_NAMES.get(found[4], found[4])
