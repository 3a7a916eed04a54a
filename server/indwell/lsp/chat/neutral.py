r"""Words that are not the user's, made fit for the document as they stream. Pure.

A model must not be able to write a line that counts as a heading of ours (its words would be sent
as the user's), to open a fence, a comment or a fold that swallows what follows, to load a picture
when the document is shown, or to offer a link that runs something.

The principle: what a reader takes for code is believed only where no reading of CommonMark can
differ. Every fence is put at column 0, outside of lists and quotes, and ended by the exact rule;
within a line, ``inline`` decides. Everywhere else HTML, pictures and links that lead elsewhere
than to the web or to a relative path are escaped, even where that shows a sign too many.
"""

from __future__ import annotations

import re

from indwell.lsp.chat.inline import Inline

_MOST = 1_000  # characters of a line's beginning that are held until it is known what the line is
_OURS_HELD = 60  # the same of a line in a fence that may be a heading of ours

_OURS = re.compile(r"^(?=##[ \t]+(?:You|Indwell)\b)", re.MULTILINE)
_HEADING = re.compile(r"^([ \t]*)(#{1,2})(?=[ \t]|$)")
_FENCE = re.compile(
    r"(?P<prefix>[ \t]*(?:(?:>|[-*+][ \t]|\d{1,9}[.)][ \t])[ \t]*)*)"
    r"(?P<run>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)"
)
_UNDERLINE = re.compile(r"^[ ]{0,3}(=+|-+)[ \t]*$")
_UNKNOWN = re.compile(r"(?:[ \t>*+#=-]|\d{1,9}(?:[.)]|$))*(?:`{1,2}|~{1,2}|(?:`{3,}|~{3,}).*)?")
_UNKNOWN_INSIDE = re.compile(r"[ \t]*(?:(?:`+|~+)[ \t]*)?")

_BREAKS = re.compile(r"\r\n|[\r\v\f\x85\u2028\u2029]")
_ODD = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def plain(text: str) -> str:
    r"""One kind of line break, and what hides or reorders text as its code point."""
    return _ODD.sub(lambda one: f"\\u{ord(one[0]):04x}", _BREAKS.sub("\n", text))


def inert(text: str) -> str:
    """Text for a fence: none of its lines is a heading of ours."""
    return _OURS.sub(" ", plain(text))


def quoted(text: str) -> str:
    """Text as a block quote; no line of it can be anything else."""
    blocks = re.split(r"(\n(?:[ \t]*\n)+)", plain(text).strip())
    words = "".join("\n".join(map(Inline().line, one.split("\n"))) for one in blocks)
    return "\n".join(f"> {line}".rstrip() for line in words.split("\n"))


class Neutral:
    """Takes the words of one reply in pieces, and gives them fit for the document."""

    def __init__(self) -> None:
        self._rest = ""  # of a line that is not known yet, or of a sign in it
        self._is_inside = False  # the beginning of this line was given already
        self._fence = ""  # that is open
        self._indent = 0  # columns that are taken off its lines
        self._is_paragraph = False  # the line before this one has words
        self._words = Inline()

    def feed(self, text: str) -> str:
        """Take more; gives what is known to be harmless by now."""
        text = self._rest + text
        held = "\r" if text.endswith("\r") else ""  # a line feed may follow
        *lines, last = plain(text[: len(text) - len(held)]).split("\n")
        given = [self._line(line) + "\n" for line in lines]
        given.append(self._beginning(last) if not held else "")
        self._rest = (last + held) if held else self._rest
        return "".join(given)

    def finish(self) -> str:
        """The reply is over: what was held, and the end of a fence that it left open."""
        lines = plain(self._rest).split("\n") if self._rest else []
        rest = "\n".join(map(self._line, lines))
        self._rest, self._is_inside, self._is_paragraph = "", False, False
        self._words = Inline()
        if self._fence:
            rest += f"\n{self._fence}"
            self._fence = ""
        return rest

    def _beginning(self, line: str) -> str:
        """What of an unfinished line can be given already."""
        self._rest = line
        if not self._is_inside:
            if self._is_unknown(line):
                return ""
            self._is_inside = True
            self._rest = ""
            if self._fence:
                return self._in_fence(line)
            if len(line) > _MOST and self._is_unknown(line[:_MOST]):
                line = _forced(line)
            self._is_paragraph = True
            line = _HEADING.sub(r"\1###", line)
        elif self._fence:
            self._rest = ""
            return line
        given, self._rest = self._words.feed(line)
        return given

    def _is_unknown(self, line: str) -> bool:
        """May it still become something else than a line of words?"""
        if len(line) > _MOST:
            return False
        if not self._fence:
            return _UNKNOWN.fullmatch(line) is not None
        line = _dedented(line, self._indent)
        is_ours = line.startswith("#") and len(line) <= _OURS_HELD
        return is_ours or _UNKNOWN_INSIDE.fullmatch(line) is not None

    def _line(self, line: str) -> str:
        """The whole of a line, or the rest of one that has begun."""
        if self._is_inside:
            self._is_inside = False
            return line if self._fence else self._words.line(line)
        if self._fence:
            return self._in_fence(line)
        if len(line) > _MOST and self._is_unknown(line[:_MOST]):
            self._is_paragraph = True
            return self._words.line(_forced(line))
        return self._start(line)

    def _in_fence(self, line: str) -> str:
        if len(line) > _MOST and _UNKNOWN_INSIDE.fullmatch(line, 0, _MOST):
            return f"\\{line}"  # nobody ends a fence so
        line = _dedented(line, self._indent)
        mark = line.rstrip(" \t")
        run = mark.lstrip(" ")
        is_end = len(run) >= len(self._fence) and not run.strip(self._fence[0])
        if is_end and len(mark) - len(run) <= 3:  # noqa: PLR2004 - spaces; four make it code
            self._fence = ""
        return _OURS.sub(" ", line)

    def _start(self, line: str) -> str:
        was_paragraph, self._is_paragraph = self._is_paragraph, bool(line.strip())
        if not line.strip():
            self._words = Inline()
            return line
        fence = _FENCE.fullmatch(line)
        if fence is not None:
            return self._opened(fence, was_paragraph=was_paragraph)
        if was_paragraph and (under := _UNDERLINE.match(line)) is not None:
            self._is_paragraph = under[1][0] == "="
            return f"\\{line.lstrip()}" if self._is_paragraph else f"\n{line}"
        return self._words.line(_HEADING.sub(r"\1###", line))

    def _opened(self, fence: re.Match[str], *, was_paragraph: bool) -> str:
        """A fence goes to column 0; one in a quote, whose end nobody sees, is none."""
        prefix, run = fence["prefix"], fence["run"]
        info = fence["info"].replace("|", "/")  # else some read it as the head of a table
        if ">" in prefix:
            return self._words.line(f"{prefix}\\{run}{info}")
        self._fence, self._is_paragraph = run, False
        self._words = Inline()
        self._indent = len(prefix.expandtabs(4))
        marks = prefix.rstrip()
        gap = "\n" if was_paragraph else ""  # a lone mark would underline the words above it
        return f"{gap}{marks}\n{run}{info}" if marks else f"{run}{info}"


def _forced(line: str) -> str:
    """A line whose beginning says nothing for too long: words, whatever it would have been."""
    return f"\\{line[: _MOST + 1].lstrip()}{line[_MOST + 1 :]}"


def _dedented(line: str, columns: int) -> str:
    """A line without so many columns of white space, if it has them."""
    if not columns:
        return line
    words = line.lstrip(" \t")
    blanks = line[: len(line) - len(words)].expandtabs(4)
    return blanks[columns:] + words
