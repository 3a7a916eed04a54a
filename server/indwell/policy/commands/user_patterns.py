"""What the user's own patterns say of the words of a command: deny, ask, allow."""

from __future__ import annotations

from collections.abc import Sequence

from indwell.policy.commands.finding import Finding, ask, forbidden
from indwell.policy.commands.patterns import allowing, forbidding, governing, patterns_of
from indwell.policy.commands.words import Word
from indwell.policy.commands.wrappers import loosely_unwrapped
from indwell.policy.rules import Rules

_MOST_WORDS = 500  # of a text in which what is denied is looked for
_MOST_HINTS = 8


class UserPatterns:
    """The patterns of three kinds, asked one after the other.

    Args:
        rules: As the user wrote them.

    Attributes:
        allows_all: One of them allows whatever else is not denied.
    """

    def __init__(self, rules: Rules) -> None:
        self._deny = patterns_of(rules.deny)
        self._ask = patterns_of(rules.ask)
        self._allow = patterns_of(rules.allow)
        self.allows_all = any(one.text.strip() == "*" for one in self._allow.others)

    @property
    def can_forbid(self) -> bool:
        """Are there some that deny or ask?"""
        return bool(self._deny or self._ask)

    def allowing(self, words: Sequence[Word]) -> str:
        """The pattern that covers a command exactly, or nothing."""
        return allowing(words, self._allow)

    def governing(self, words: Sequence[Word]) -> str:
        """The pattern that says which commands of this kind are meant, or nothing."""
        return governing(words, self._allow)

    def forbidding(self, words: tuple[Word, ...], *, certain_only: bool = False) -> Finding | None:
        """What denies or asks for a command, or perhaps does."""
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

    def forbidding_anywhere(self, words: Sequence[Word]) -> Finding | None:
        """What denies or asks for words of a text that could not be parsed: at any place."""
        for at in range(min(len(words), _MOST_WORDS)):
            if found := self.forbidding(tuple(words[at : at + 8]), certain_only=True):
                return found
        return None

    def forbidding_named(self, words: tuple[Word, ...]) -> Finding | None:
        """What is denied may be named in the words of a program that nobody here knows."""
        rest = words[1:]
        return self.forbidding_anywhere(rest) if any(map(self._could_speak_of, rest)) else None

    def hints(self, words: tuple[Word, ...]) -> tuple[str, ...]:
        """Texts among such words, in which what is denied may be named too."""
        texts = [word for word in words[1:] if " " in word.text and self._could_speak_of(word)]
        return tuple(word.text for word in texts[:_MOST_HINTS])

    def _could_speak_of(self, word: Word) -> bool:
        """Could what is denied or asked for stand in a word (of one of its options)?"""
        return any(
            patterns.could_speak_of(text)
            for patterns in (self._deny, self._ask)
            for text in word.options
        )
