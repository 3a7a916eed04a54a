r"""Words that are not the user's, made fit for the document as they stream. Pure.

A model must not be able to write a line that counts as a heading of ours (its words would be sent
as the user's), to open a fence, a comment or a fold that swallows what follows, or to load a
picture from somewhere when the document is shown. Everything else stays as it was written.
"""

from __future__ import annotations

import re

_HELD = 60  # characters of a line's beginning that are held until it is known what the line is
_TAG_HELD = 12  # characters that a tag is known by

_OURS = re.compile(r"^(?=##[ \t]+(?:You|Indwell)\b)", re.MULTILINE)
_HEADING = re.compile(r"^([ ]{0,3})(#{1,2})(?=[ \t]|$)")
_FENCE = re.compile(r"^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*(`{3,}|~{3,})")
_UNDERLINE = re.compile(r"^[ ]{0,3}(=+|-+)[ \t]*$")
_TAG = re.compile(
    r"<(?=!|\?|/?(?:details|summary|script|style|pre|textarea|template|title|xmp|iframe|noscript"
    r"|object|embed|svg|img|picture|video|audio|link|meta|base|form|input|button)\b)",
    re.IGNORECASE,
)
_PICTURE = re.compile(r"!(?=\[)")
_OPEN_END = re.compile(rf"[<!][^<>\s\[]{{0,{_TAG_HELD}}}$")
_UNDECIDED = frozenset("#`~=-+*>|<! \t0123456789")

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
    return "\n".join(f"> {_inline(line)}".rstrip() for line in plain(text).strip().split("\n"))


class Neutral:
    """Takes the words of one reply in pieces, and gives them fit for the document."""

    def __init__(self) -> None:
        self._rest = ""  # of a line that is not known yet, or of a tag
        self._is_inside = False  # the beginning of this line was given already
        self._fence = ""  # that is open
        self._is_paragraph = False  # the line before this one has words

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
        rest = self._line(plain(self._rest)) if self._rest else ""
        self._rest, self._is_inside, self._is_paragraph = "", False, False
        if self._fence:
            rest += f"\n{self._fence}"
            self._fence = ""
        return rest

    def _beginning(self, line: str) -> str:
        """What of an unfinished line can be given already."""
        self._rest = line
        if not self._is_inside:
            first = line.lstrip()[:1]
            is_known = bool(first) and (first not in _UNDECIDED or len(line) > _HELD)
            if not is_known:
                return ""
            held = self._held(line)
            given, self._rest = self._start(line[: len(line) - len(held)]), held
            self._is_inside = True
            return given
        held = self._held(line)
        self._rest = held
        return self._inside(line[: len(line) - len(held)])

    def _held(self, line: str) -> str:
        if self._fence:
            return ""
        open_end = _OPEN_END.search(line)
        return open_end[0] if open_end else ""

    def _line(self, line: str) -> str:
        """The whole of a line, or the rest of one that has begun."""
        if self._is_inside:
            self._is_inside = False
            return self._inside(line)
        return self._start(line)

    def _inside(self, piece: str) -> str:
        return piece if self._fence else _inline(piece)

    def _start(self, line: str) -> str:
        if self._fence:
            mark = line.strip().lstrip("> ")
            if len(mark) >= len(self._fence) and not mark.strip(self._fence[0]):
                self._fence = ""
            return _OURS.sub(" ", line)
        was_paragraph, self._is_paragraph = self._is_paragraph, bool(line.strip())
        fence = _FENCE.match(line)
        if fence is not None and "`" not in line[fence.end() :]:
            self._fence = fence[1]
            self._is_paragraph = False
            return line
        if was_paragraph and (under := _UNDERLINE.match(line)) is not None:
            self._is_paragraph = False
            return f"\n{line}" if under[1][0] == "-" else f"\\{line.lstrip()}"
        return _HEADING.sub(r"\1###", _inline(line))


def _inline(line: str) -> str:
    return _PICTURE.sub(r"\\!", _TAG.sub("&lt;", line))
