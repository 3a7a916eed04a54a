"""Makes any text safe to show in a Markdown document, even while it is streamed. Pure."""

from __future__ import annotations

import html
import re

from indwell.context.untrusted_text import short_line
from indwell.lazy_pattern import lazy_pattern

_MOST_SPAN = 400  # the limit of characters for an unfinished code span
_MOST_TARGET = 200  # the limit of characters for an unfinished link target

_SIGN = lazy_pattern(r"[\\<!\]`$]")
_TAG = lazy_pattern(r"<(?=[A-Za-z/!?])")
_NAME = rf"[\w.~+@-]{{0,{_MOST_TARGET}}}"
_SAFE = lazy_pattern(
    rf"(?:\(|:[ \t]{{0,80}})(?!/[/\\])(?:https?://|mailto:|{_NAME}[/#?)]|(?=[^\s]){_NAME}\s)",
    re.IGNORECASE,
)
_UNKNOWN = lazy_pattern(rf"(?:\(|:[ \t]{{0,80}})?(?:{_NAME}|https?:/?|/)", re.IGNORECASE)
# A table's cell or a formula may end at these characters, so a code span may end, too.
_UNSURE_IN_SPAN = frozenset("|$")


class Inline:
    """Makes the text between two blank lines safe, line by line."""

    def __init__(self) -> None:
        self._is_sure = True  # True if no construct from an earlier line is open.

    def line(self, text: str) -> str:
        """Process a whole line, or the rest of a line."""
        return self._scan(f"{text}\n", is_whole=True)[0][:-1]

    def feed(self, text: str) -> tuple[str, str]:
        """Process a part of a line; return the text to show, and the text to process later."""
        return self._scan(text, is_whole=False)

    def _scan(self, text: str, *, is_whole: bool) -> tuple[str, str]:
        given, at = [], 0
        while (sign := _SIGN.search(text, at)) is not None:
            given.append(text[at : sign.start()])
            at = sign.start()
            known = self._sign(text, at, is_whole=is_whole)
            if known is None:
                return "".join(given), text[at:]
            shown, n_read = known
            given.append(shown)
            at += n_read
        given.append(text[at:])
        return "".join(given), ""

    def _sign(self, text: str, at: int, *, is_whole: bool) -> tuple[str, int] | None:
        """Return a character's safe form and its source's length, or None if it is incomplete."""
        if text[at] == "`":
            return self._ticks(text, at, is_whole=is_whole)
        if text[at] == "$":
            self._is_sure = False
            return "$", 1
        after = text[at + 1 : at + 2]
        if not after:
            return None
        match text[at]:
            case "\\":
                if after == "`":  # a backtick here may end a code span, but cannot start one
                    self._is_sure = False
                return ("\\", 1) if after == "\n" else (text[at : at + 2], 2)
            case "<":
                return ("&lt;" if _TAG.match(text, at) else "<"), 1
            case "!":
                return ("\\!" if after == "[" else "!"), 1
            case _:
                return _target(text, at, is_whole=is_whole)

    def _ticks(self, text: str, at: int, *, is_whole: bool) -> tuple[str, int] | None:
        end = at
        while text[end : end + 1] == "`":
            end += 1
        run = text[at:end]
        if not self._is_sure or len(run) >= _MOST_SPAN:
            self._is_sure = False
            return run, len(run)
        if end == len(text):
            return None
        window = text[end : at + _MOST_SPAN]
        close = re.search(rf"(?<!`){run}(?![`]|\Z)", window)
        if close is not None and _UNSURE_IN_SPAN.isdisjoint(window[: close.start()]):
            whole = text[at : end + close.end()]
            return whole, len(whole)
        if close is None and not is_whole and len(text) <= at + _MOST_SPAN:
            return None
        self._is_sure = False
        return run, len(run)


def _target(text: str, at: int, *, is_whole: bool) -> tuple[str, int] | None:
    """Process a closing bracket; escape an unsafe link target after the bracket."""
    if text[at + 1] not in "(:":
        return "]", 1
    if not is_whole and _UNKNOWN.fullmatch(text, at + 1):
        return None
    if _SAFE.match(text, at + 1):
        return text[at : at + 2], 2
    return f"]\\{text[at + 1]}", 2


_MOST = 1_000  # the limit of characters held back at a line's start until the kind of line is known
# the limit of characters held back for a line in a code fence that may be a chat heading
_OURS_HELD = 60

_OURS = lazy_pattern(r"^(?=##[ \t]+(?:You|Indwell)\b)", re.MULTILINE)
_HEADING = lazy_pattern(r"^([ \t]*)(#{1,2})(?=[ \t]|$)")
_FENCE = lazy_pattern(
    r"(?P<prefix>[ \t]*(?:(?:>|[-*+][ \t]|\d{1,9}[.)][ \t])[ \t]*)*)"
    r"(?P<run>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)"
)
_UNDERLINE = lazy_pattern(r"^[ ]{0,3}(=+|-+)[ \t]*$")
_UNKNOWN_CHARACTERS = lazy_pattern(
    r"(?:[ \t>*+#=-]|\d{1,9}(?:[.)]|$))*(?:`{1,2}|~{1,2}|(?:`{3,}|~{3,}).*)?"
)
_UNKNOWN_INSIDE = lazy_pattern(r"[ \t]*(?:(?:`+|~+)[ \t]*)?")

_BREAKS = lazy_pattern(r"\r\n|[\r\v\f\x85\u2028\u2029]")
_ODD = lazy_pattern(
    r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def plain(text: str) -> str:
    r"""Return text with one kind of line break, and with hidden characters as code points."""
    return _ODD.sub(lambda one: f"\\u{ord(one[0]):04x}", _BREAKS.sub("\n", text))


def inert(text: str) -> str:
    """Return text for a code fence, in which no line is a heading of the chat."""
    return _OURS.sub(" ", plain(text))


def quoted(text: str) -> str:
    """Return text as a block quote, with every line marked as quoted."""
    blocks = re.split(r"(\n(?:[ \t]*\n)+)", plain(text).strip())
    words = "".join("\n".join(map(Inline().line, one.split("\n"))) for one in blocks)
    return "\n".join(f"> {line}".rstrip() for line in words.split("\n"))


class Neutral:
    """Receives one reply in parts, and returns text that is safe in the document."""

    def __init__(self) -> None:
        # the text held back: a line of unknown kind, or an unfinished character sequence
        self._rest = ""
        self._is_inside = False  # whether the beginning of the current line was already returned
        self._fence = ""  # the marker of the open code fence, or empty if no fence is open
        # the number of columns of indent that are removed from the lines in the fence
        self._indent = 0
        self._is_paragraph = False  # whether the previous line is part of a paragraph
        self._words = Inline()

    def feed(self, text: str) -> str:
        """Add a part of the reply; return the text that is safe to show now."""
        text = self._rest + text
        held = "\r" if text.endswith("\r") else ""  # a line feed may follow the carriage return
        *lines, last = plain(text[: len(text) - len(held)]).split("\n")
        given = [self._line(line) + "\n" for line in lines]
        given.append(self._beginning(last) if not held else "")
        self._rest = (last + held) if held else self._rest
        return "".join(given)

    def finish(self) -> str:
        """Finish the reply: return the text held back, and close an open fence."""
        lines = plain(self._rest).split("\n") if self._rest else []
        rest = "\n".join(map(self._line, lines))
        self._rest, self._is_inside, self._is_paragraph = "", False, False
        self._words = Inline()
        if self._fence:
            rest += f"\n{self._fence}"
            self._fence = ""
        return rest

    def _beginning(self, line: str) -> str:
        """Return the part of an unfinished line that can already be shown."""
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
        """Return whether the line may still become something other than plain text."""
        if len(line) > _MOST:
            return False
        if not self._fence:
            return _UNKNOWN_CHARACTERS.fullmatch(line) is not None
        line = _dedented(line, self._indent)
        is_ours = line.startswith("#") and len(line) <= _OURS_HELD
        return is_ours or _UNKNOWN_INSIDE.fullmatch(line) is not None

    def _line(self, line: str) -> str:
        """Process a whole line, or the rest of a line whose beginning was returned."""
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
            return f"\\{line}"  # a fence cannot end with this line
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
        """Open a fence at column 0, but never in a quote, where its end would be unclear."""
        prefix, run = fence["prefix"], fence["run"]
        # With a ``|``, some editors would read the line as the head of a table.
        info = fence["info"].replace("|", "/")
        if ">" in prefix:
            return self._words.line(f"{prefix}\\{run}{info}")
        self._fence, self._is_paragraph = run, False
        self._words = Inline()
        self._indent = len(prefix.expandtabs(4))
        marks = prefix.rstrip()
        # Without an empty line, the fence would turn the line above into a heading.
        gap = "\n" if was_paragraph else ""
        return f"{gap}{marks}\n{run}{info}" if marks else f"{run}{info}"


def _forced(line: str) -> str:
    """Treat a line as plain text, because its beginning is unclear for too long."""
    return f"\\{line[: _MOST + 1].lstrip()}{line[_MOST + 1 :]}"


def _dedented(line: str, columns: int) -> str:
    """Return a line without this number of columns of white space at its beginning."""
    if not columns:
        return line
    words = line.lstrip(" \t")
    blanks = line[: len(line) - len(words)].expandtabs(4)
    return blanks[columns:] + words


SUMMARY_CHARACTERS = 160
# The limit of characters for a diff or an output in the document; the log has the whole text.
MOST_CHARACTERS = 6_000
_HEAD = 4_000
_TICKS = lazy_pattern(r"`{3,}")


def details(summary: str, *parts: str) -> str:
    """Return a collapsible section with a visible summary; without parts, only the summary."""
    line = escaped(short_line(summary, SUMMARY_CHARACTERS))
    if not any(parts):
        return f"<details><summary>{line}</summary></details>"
    inside = "\n\n".join(filter(None, parts))
    return f"<details><summary>{line}</summary>\n\n{inside}\n\n</details>"


def fence(text: str, language: str = "") -> str:
    """Return a text in a code fence that the text cannot close; shorten a long text."""
    body = inert(bounded(text)).strip("\n")
    longest = max((len(run[0]) for run in _TICKS.finditer(body)), default=2)
    mark = "`" * (longest + 1)
    return f"{mark}{language}\n{body}\n{mark}"


def bounded(text: str) -> str:
    """Return about ``MOST_CHARACTERS`` of a text at most, with a note on the omitted text."""
    if len(text) <= MOST_CHARACTERS:
        return text
    tail = MOST_CHARACTERS - _HEAD
    left_out = len(text) - MOST_CHARACTERS
    said = f"[… {left_out:,} characters; all of it is in the session …]"
    return f"{text[:_HEAD]}\n{said}\n{text[-tail:]}"


_REFERENCE = lazy_pattern(r"&[#\w]{1,40};?")


def escaped(text: str) -> str:
    """Escape signs that HTML would not show as text; other signs stay as they are.

    For example, ``a && b < 2`` stays as it is. ``html.unescape`` returns the text.
    """

    def reference(found: re.Match[str]) -> str:
        is_text = html.unescape(found[0]) == found[0]
        return found[0] if is_text else f"&amp;{found[0][1:]}"

    return _TAG.sub("&lt;", _REFERENCE.sub(reference, text))


def code(text: str) -> str:
    """Return a short text as inline code on one line; a backtick becomes an apostrophe."""
    return f"`{short_line(text, SUMMARY_CHARACTERS).replace('`', chr(39)) or ' '}`"
