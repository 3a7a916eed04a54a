"""Words of a command as bash would see them: what they may come to, with marks for the unknown."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from indwell.policy.commands.shell_words import HOME, STAR, UNKNOWN

MOST_OPTIONS = 16  # of one word, by braces and loops; more are unknown

_SEGMENT = re.compile(
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
_IN_TEXT = re.compile(
    r"""(?P<literal>(?:[^\\$`\x00]|\$(?![\w{(\[*@#?$!-]))+)
    |(?P<escape>\\.)
    |(?P<value>\$\w+|\$[?#$!@*-]|\$\{\w+\})
    |(?P<harmless>\$\{\#?[A-Za-z_]\w*(?:\[[@*]\])?
        (?::?-[\w./:=@%+,\ -]*|[\#%]{1,2}[\w./:=@%+,*?\[\]-]*|:\ ?\d+(?::\d+)?|,,?|\^\^?
        |//?[\w./:=@%+,*?-]*(?:/[\w.:=@%+,-]*)?)?\})
    |(?P<unknown>\x00)""",
    re.DOTALL | re.VERBOSE,
)
_BRACES = re.compile(r"\{([^{}\x00]*,[^{}\x00]*)\}")
_ALONE = frozenset(["[", "]", "[[", "]]"])
_NAME = re.compile(r"\w+")
_SPLITS = re.compile(r"[\s*?\[\x00\x02]")


class Word(msgspec.Struct, frozen=True, gc=False):
    """A word.

    Attributes:
        source: As it stands in the command.
        options: What it may come to; each may hold ``UNKNOWN``, ``HOME`` and ``STAR``.
        splits: It may come to none or to several words.
    """

    source: str
    options: tuple[str, ...]
    splits: bool = False

    @property
    def text(self) -> str:
        """The first of the options."""
        return self.options[0]

    @property
    def is_literal(self) -> bool:
        """Is it one word, and known?"""
        return len(self.options) == 1 and not self.splits and not has_marks(self.options[0])

    @property
    def is_known(self) -> bool:
        """Is it known but for wildcards and the home folder?"""
        return not any(UNKNOWN in one for one in self.options)

    @property
    def could_be_option(self) -> bool:
        """Could it begin with a hyphen?"""
        return any(one[:1] in {"-", STAR, UNKNOWN} for one in self.options)


class Unreadable(Exception):
    """A word holds something that runs or changes things while bash reads it, or that is not known.

    Args:
        why: Half a sentence for people.
    """


def has_marks(text: str) -> bool:
    """Does a text hold something that only a run can tell?"""
    return UNKNOWN in text or STAR in text or HOME in text


def word_of(source: str, shown: str, values: Mapping[str, tuple[str, ...]]) -> Word:
    """Read a word.

    Args:
        source: The word with ``UNKNOWN`` where substitutions stood.
        shown: The word as it stands in the command.
        values: What the variables may be.

    Raises:
        Unreadable: It holds more than is known to be harmless.
    """
    if _NAME.fullmatch(source):
        return Word(shown, (source,))
    options, splits, has_braces = [""], False, False
    at = 0
    while at < len(source):
        found = _SEGMENT.match(source, at)
        if found is None:
            raise Unreadable(_why(source[at:]))
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
    """What a piece of a word comes to, and whether bash splits it."""
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
        case "bracket":  # half of a set with quotes in it, or `[` and the like alone
            return [text if found.string in _ALONE else STAR], False
        case "home":
            before, after = found.string[: found.start()], found.string[found.end() :]
            if not before and after[:1] not in {"", "/"}:
                raise Unreadable("names another user's home folder")
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
            raise Unreadable(_why(text[at:]))
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
        # A loop's wildcards are names by then: blanks in them split, but nothing else.
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
    """Braces written out; what else stands in quotes beside them is left unknown."""
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
        return "holds an expansion that can run or change things"
    if rest.startswith("$'"):
        return "is written in escapes"
    if rest.startswith(("$", "`")):
        return "holds an expansion that is not understood"
    return f"holds {rest[:1]!r}, which is not understood"
