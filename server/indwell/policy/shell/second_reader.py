"""A second, small parser, which must agree before a command runs without a question.

The parser knows words, quotes, operators, loops and substitutions, and rejects all else. If the
first parser misreads a word (as happened after redirects, CMD-05), the two parsers disagree.
"""

from __future__ import annotations

import re

from indwell.lazy_pattern import lazy_pattern

Runs = set[tuple[tuple[int, int], ...]]

_DEEPEST = 5
_BLANK = lazy_pattern(r"(?:[ \t]|\\\n)+")
_COMMENT = lazy_pattern(r"#[^\n]*")
_REDIRECT = lazy_pattern(r"\d*(?:&>>|&>|<<<|<&|>&|>>|>\||<>|<(?!<)|>)(?!\()")
_SEPARATOR = lazy_pattern(r"\n|;(?![;&])|&&|\|\||\|&|\||&(?!>)|\)")
_PIECE = lazy_pattern(
    r"""'[^']*'
    |\\[^\n]|\\\n
    |\$\w+|\$[?\#$!@*-]|\$\{[^{}$`"'\\\n]*\}
    |\$\(\([\d\s+\-*/%<>=!&|^~?:()]*?\)\)
    |\$(?![\w{(\[*@\#?$!'"-])
    |[^\s'"\\$`;&|<>()]+""",
    re.DOTALL | re.VERBOSE,
)
_IN_TEXT = lazy_pattern(
    r"""[^"\\$`]+|\\.|\$\w+|\$[?\#$!@*-]|\$\{[^{}$`"'\\\n]*\}|\$(?![\w{(\[*@#?$!-])
    |\$\(\([\d\s+\-*/%<>=!&|^~?:()]*?\)\)""",
    re.DOTALL | re.VERBOSE,
)
_OPENING = frozenset(["if", "then", "else", "elif", "do", "while", "until", "!", "{"])
_CLOSING = frozenset(["fi", "done", "}"])
_UNKNOWN = frozenset(["case", "select", "function", "coproc", "[[", "let", "esac", "time"])


class _Unknown(Exception):
    """A construct that this parser does not know."""


def runs_of(data: bytes) -> Runs | None:
    """Return the words of each simple command as byte ranges, or None for unknown constructs."""
    reader = _Reader(data.decode("latin-1"))
    try:
        end = reader.read(0, 0)
    except _Unknown:
        return None
    return reader.runs if end == len(reader.text) else None


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.runs: Runs = set()

    def read(self, at: int, depth: int) -> int:  # noqa: C901, PLR0912 - one case for each character
        """Read up to the end, or to the parenthesis that closes a substitution."""
        if depth > _DEEPEST:
            raise _Unknown
        run: list[tuple[int, int]] = []
        n_open = 0
        text = self.text
        while at < len(text):
            character = text[at]
            if found := _BLANK.match(text, at):
                at = found.end()
            elif character == "#":
                found = _COMMENT.match(text, at)
                at = found.end() if found else at
            elif found := _REDIRECT.match(text, at):
                if text[at - 1 : at] == "}" and run and run[-1][1] == at:
                    raise _Unknown  # `{name}>file` sets a variable.
                at = found.end()
            elif found := _SEPARATOR.match(text, at):
                self._end(run)
                run = []
                if character == ")":
                    if not n_open:
                        return at
                    n_open -= 1
                at = found.end()
            elif character == "(":
                if (run and not self._opens(run)) or text[at : at + 2] == "((":
                    raise _Unknown
                self._end(run)
                run = []
                n_open += 1
                at += 1
            else:
                end = self._word(at, depth)
                run.append((at, end))
                at = end
        if n_open:
            raise _Unknown
        self._end(run)
        return at

    def _word(self, at: int, depth: int) -> int:
        text, begin = self.text, at
        while at < len(text):
            if found := _PIECE.match(text, at):
                at = found.end()
            elif text[at] == '"':
                at = self._quoted(at + 1, depth)
            elif text.startswith("$(", at):
                at = self._substitution(at, depth)
            else:
                break
        if at == begin:
            raise _Unknown
        return at

    def _quoted(self, at: int, depth: int) -> int:
        text = self.text
        while at < len(text):
            if text[at] == '"':
                return at + 1
            if found := _IN_TEXT.match(text, at):
                at = found.end()
            elif text.startswith("$(", at):
                at = self._substitution(at, depth)
            else:
                break
        raise _Unknown

    def _substitution(self, at: int, depth: int) -> int:
        if self.text.startswith("$((", at):
            raise _Unknown
        end = self.read(at + 2, depth + 1)
        if self.text[end : end + 1] != ")":
            raise _Unknown
        return end + 1

    def _opens(self, run: list[tuple[int, int]]) -> bool:
        return all(self.text[begin:end] in _OPENING for begin, end in run)

    def _end(self, run: list[tuple[int, int]]) -> None:
        """Store the words of a simple command, without leading keywords."""
        at = 0
        while at < len(run) and self._at(run[at]) in _OPENING:
            at += 1
        if (at < len(run) and self._at(run[at]) in _CLOSING) or (
            at < len(run) and self._at(run[at]) == "for"
        ):
            at += 1
        if at < len(run):
            if self._at(run[at]) in _UNKNOWN:
                raise _Unknown
            self.runs.add(tuple(run[at:]))

    def _at(self, span: tuple[int, int]) -> str:
        return self.text[span[0] : span[1]]
