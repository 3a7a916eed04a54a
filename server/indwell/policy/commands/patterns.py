"""The user's command patterns, such as ``git push *``: the matching, and the order of rules.

A pattern is matched against the words of one simple command, joined by one blank: ``*`` is any
text, ``?`` one character. A name alone matches the program with any words, and `` *`` at the end
also matches no words. Denying and asking patterns also match as a beginning, without case, and by
the program's name wherever the program lies. Allowing patterns must match exactly.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import msgspec

from indwell.lazy_pattern import lazy_pattern
from indwell.policy.commands.effects import loosely_unwrapped
from indwell.policy.commands.path_rules import covers, matches
from indwell.policy.commands.verdict import PartFinding, ask, forbidden
from indwell.policy.rules import PatternRules
from indwell.policy.shell.items import names
from indwell.policy.shell.words import HOME, STAR, UNKNOWN, Word

_MOST_WORDS = 500  # At most 500 words of a text are checked for denied commands.
_MOST_HINTS = 8


class UserPatterns:
    """The user's patterns, of three kinds.

    Args:
        rules: The rules as the user wrote them.

    Attributes:
        allows_all: Whether a pattern allows everything that is not denied.
    """

    def __init__(self, rules: PatternRules) -> None:
        self._deny = patterns_of(rules.deny)
        self._ask = patterns_of(rules.ask)
        self._allow = patterns_of(rules.allow)
        self.allows_all = any(one.text.strip() == "*" for one in self._allow.others)

    @property
    def can_forbid(self) -> bool:
        """Return whether any pattern denies or asks."""
        return bool(self._deny or self._ask)

    def allowing(self, words: Sequence[Word]) -> str:
        """Return the pattern that covers a command exactly, or an empty text."""
        return allowing(words, self._allow)

    def governing(self, words: Sequence[Word]) -> str:
        """Return the pattern for this program and its first words, or an empty text."""
        return governing(words, self._allow)

    def forbidding(
        self, words: tuple[Word, ...], *, certain_only: bool = False
    ) -> PartFinding | None:
        """Return the pattern that denies or asks for a command; the match may be uncertain."""
        if not self.can_forbid:
            return None
        ways = [words, *loosely_unwrapped(words)]
        for patterns, effect in ((self._deny, "deny"), (self._ask, "ask")):
            for way in ways:
                text, is_certain = forbidding(way, patterns)
                if text and is_certain:
                    return forbidden(effect == "deny", text)
                if text and not certain_only:
                    return ask(f"{effect}: {text}", f"may be what your rule {text!r} is about")
        return None

    def forbidding_anywhere(self, words: Sequence[Word]) -> PartFinding | None:
        """Return a pattern that denies or asks for words anywhere in an unparsed text."""
        asked = None
        for at in range(min(len(words), _MOST_WORDS)):
            found = self.forbidding(tuple(words[at : at + 8]), certain_only=True)
            if found and found.decision == "deny":
                return found
            asked = asked or found
        return asked

    def forbidding_named(self, words: tuple[Word, ...]) -> PartFinding | None:
        """Return a pattern whose command may be among the words of an unknown program."""
        rest = words[1:]
        return self.forbidding_anywhere(rest) if any(map(self._could_speak_of, rest)) else None

    def hints(self, words: tuple[Word, ...]) -> tuple[str, ...]:
        """Return the quoted texts in ``words`` that may also name a denied command."""
        texts = [word for word in words[1:] if " " in word.text and self._could_speak_of(word)]
        return tuple(word.text for word in texts[:_MOST_HINTS])

    def _could_speak_of(self, word: Word) -> bool:
        """Return whether a word (or one of its options) could contain a denied command."""
        return any(
            patterns.could_speak_of(text)
            for patterns in (self._deny, self._ask)
            for text in word.options
        )


_GAP = "\x1f"  # This character replaces a blank within a word.
_QUOTES = lazy_pattern(r"[\\'\"]")
_FILE_RULE = lazy_pattern(r"(?:edit|read|write):\s")


class Pattern(msgspec.Struct, frozen=True, gc=False):
    """A parsed pattern for commands.

    Attributes:
        text: The pattern as the user wrote it.
        words: The pattern's words in lower case.
        allows: The pattern's words unchanged, for allowing.
        prefix: The pattern's words for denying or asking.
    """

    text: str
    words: tuple[str, ...]
    allows: tuple[str, ...]
    prefix: re.Pattern[str]


class Patterns(msgspec.Struct, frozen=True):
    """Patterns by the name of their program.

    Attributes:
        named: Patterns that begin with a name, by that name.
        others: Patterns that begin with a wildcard.
    """

    named: dict[str, tuple[Pattern, ...]]
    others: tuple[Pattern, ...]

    def __bool__(self) -> bool:
        return bool(self.named or self.others)

    def could_speak_of(self, text: str) -> bool:
        """Return whether a text could name one of the programs; this saves parsing most texts."""
        lower = _QUOTES.sub("", text.lower())
        return bool(self.others) or any(name in lower for name in self.named)

    def of(self, word: Word) -> Iterator[Pattern]:
        """Return the patterns that could match a command with this first word."""
        if word.is_literal:
            text = word.text.lower()
            for name in {text: 0, _name(text): 0}:
                yield from self.named.get(name, ())
        else:
            for some in self.named.values():
                yield from some
        yield from self.others


@lru_cache(maxsize=64)
def patterns_of(texts: tuple[str, ...]) -> Patterns:
    """Parse patterns for commands; patterns for files (``edit: src/**``) are left out."""
    named: dict[str, tuple[Pattern, ...]] = {}
    others: tuple[Pattern, ...] = ()
    for text in texts:
        if text.strip() and not _FILE_RULE.match(text):
            pattern = _read(text)
            first = pattern.words[0]
            if re.search(r"[*?]", first):
                others += (pattern,)
            else:
                named[first] = (*named.get(first, ()), pattern)
    return Patterns(named, others)


def allowing(words: Sequence[Word], patterns: Patterns) -> str:
    """Return the first pattern that covers a whole command exactly, or an empty text."""
    if not patterns or not words or not words[0].is_literal:
        return ""
    texts = [_plain(word) for word in words]
    return next((one.text for one in patterns.of(words[0]) if _covers(one.allows, texts)), "")


def _covers(allows: tuple[str, ...], texts: list[str]) -> bool:
    """Return whether an allowing pattern matches words exactly; only a lone ``*`` spans several."""
    if len(allows) == 1 and (allows[0] == "*" or not re.search(r"[*?]", allows[0])):
        # The pattern means all commands, or one program with any words.
        return allows[0] in {"*", texts[0]}
    if allows[-1] == "*" and covers(allows[:-1], texts):
        return True
    return covers(allows, texts)


def governing(words: Sequence[Word], patterns: Patterns) -> str:
    """Return the pattern for this very program and its first words, or an empty text.

    A user who writes ``ls -l?`` allows only that use of ``ls``: any other use needs a question,
    even if it would be allowed without the pattern.
    """
    for one in patterns.of(words[0]) if words else ():
        fixed = _fixed(one.words)
        if fixed and len(words) >= len(fixed):
            texts = [_plain(word).lower() for word in words[: len(fixed)]]
            if texts == list(fixed):
                return one.text
    return ""


def forbidding(words: Sequence[Word], patterns: Patterns) -> tuple[str, bool]:
    """Return the first pattern that a command's beginning matches, and whether this is certain.

    A match is uncertain if it needs words that are known only at run time.
    """
    perhaps = ""
    alike = list(patterns.of(words[0])) if words else []
    lines = _lines(words) if alike else []
    for one in alike:
        if any(one.prefix.match(line) for line in lines):
            return one.text, True
        if not perhaps and not all(w.is_literal for w in words) and _could_match(words, one):
            perhaps = one.text
    return perhaps, False


def _read(text: str) -> Pattern:
    try:
        words = tuple(shlex.split(text))
    except ValueError:
        words = tuple(text.split())
    words = words or tuple(text.split())
    body = _regex(" ".join(word.replace(" ", _GAP) for word in words))
    if len(words) == 1 and not re.search(r"[*?]", words[0]):
        prefix = f"{body}(?: .*)?"
    elif words[-1] == "*" and len(words) > 1:
        head = _regex(" ".join(word.replace(" ", _GAP) for word in words[:-1]))
        prefix = f"{head}(?: .*)?"
    else:
        prefix = f"{body}(?: .*)?"
    return Pattern(
        text,
        tuple(word.lower() for word in words),
        words,
        re.compile(f"(?:{prefix})$", re.DOTALL | re.IGNORECASE),
    )


def _regex(glob: str) -> str:
    """Return a glob as an expression without backtracking."""
    first, *others = (
        "".join("." if one == "?" else re.escape(one) for one in piece)
        for piece in re.split(r"\*+", glob)
    )
    if not others:
        return first
    return first + "".join(f"(?>.*?{piece})" for piece in others[:-1]) + f".*{others[-1]}"


def _fixed(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a pattern before its first wildcard."""
    for at, word in enumerate(words):
        if re.search(r"[*?]", word):
            return words[:at]
    return words


def _plain(word: Word) -> str:
    return word.text.replace(HOME, "~").replace(STAR, "*").replace(UNKNOWN, "$")


def _name(path: str) -> str:
    return posixpath.basename(path).removesuffix(".exe")


def _lines(words: Sequence[Word]) -> list[str]:
    """Return all spellings of a command that matter for deny rules."""
    texts = [_plain(word) for word in words]
    name = _name(texts[0])
    lines = [" ".join([name, *texts[1:]]), " ".join(texts)]
    marked = [text.replace(" ", _GAP) for text in [name, *texts[1:]]]
    short = [text for text in marked[1:] if text]
    lines += [" ".join(marked), " ".join([marked[0], *short])]
    lines += [" ".join(one) for one in without_options([marked[0].lower(), *short])]
    return [*dict.fromkeys(lines)]


def _could_match(words: Sequence[Word], pattern: Pattern) -> bool:
    """Return whether unknown words, such as variables, could make a command match."""
    for at, wanted in enumerate(pattern.words):
        if at >= len(words):
            return False
        word = words[at]
        if word.splits or "*" in wanted:
            return True
        options = [posixpath.basename(one) if at == 0 else one for one in word.options]
        if not any(_could_be(one.lower(), wanted) for one in options):
            return False
    return True


def _could_be(text: str, wanted: str) -> bool:
    return "?" in wanted or matches(text, wanted, many=UNKNOWN + STAR + HOME, one="")


_VALUED: Mapping[str, frozenset[str]] = {
    "git": names("-C -c --git-dir --work-tree --namespace --config-env --super-prefix --exec-path"),
}
"""Programs whose options with a value are known; any option of another program may have a value."""

_MOST = 200  # At most 200 words before a subcommand are examined.


def without_options(words: Sequence[str]) -> list[list[str]]:
    """Return all readings of a command without the options before its subcommand.

    Args:
        words: The program's name and its words.
    """
    name, rest = words[0], list(words[1:])
    found = []
    if rest and _is_option(rest[0]):
        starts = _starts_of_git(rest) if name in _VALUED else _starts(rest)
        found = [[name, *rest[at:]] for at in starts]
    behind = found[0][1:] if found and name in _VALUED else rest
    return [*found, [name, *(word for word in behind if not _is_option(word))]]


def _starts_of_git(rest: Sequence[str]) -> list[int]:
    at = 0
    while at < len(rest) and _is_option(rest[at]):
        at += 2 if rest[at] in _VALUED["git"] else 1
    return [at] if at < len(rest) else []


def _starts(rest: Sequence[str]) -> list[int]:
    """Return the possible positions of the subcommand: after an option, or after its value."""
    found = []
    at = 0
    while at < min(len(rest), _MOST):
        if _is_option(rest[at]):
            at += 1
            continue
        found.append(at)
        if at + 1 < len(rest) and not _is_option(rest[at + 1]):
            return [*found, at + 1]
        at += 1
    return found[:4]


def _is_option(word: str) -> bool:
    return word.startswith(("-", "+"))
