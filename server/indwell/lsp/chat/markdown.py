"""Makes text of any origin safe to show in a Markdown document, also while it streams. Pure."""

from __future__ import annotations

import re

from indwell.context.untrusted_text import short_line
from indwell.lazy_pattern import lazy_pattern

_MOST_SPAN = 400  # most characters of an unfinished code span
_MOST_TARGET = 200  # most characters of an unfinished link target

_SIGN = lazy_pattern(r"[\\<!\]`$]")
_TAG = lazy_pattern(r"<(?=[A-Za-z/!?])")
_NAME = rf"[\w.~+@-]{{0,{_MOST_TARGET}}}"
_SAFE = lazy_pattern(
    rf"(?:\(|:[ \t]{{0,80}})(?!/[/\\])(?:https?://|mailto:|{_NAME}[/#?)]|(?=[^\s]){_NAME}\s)",
    re.IGNORECASE,
)
_UNKNOWN = lazy_pattern(rf"(?:\(|:[ \t]{{0,80}})?(?:{_NAME}|https?:/?|/)", re.IGNORECASE)
_UNSURE_IN_SPAN = frozenset("|$")  # a table's cell or a formula may end at these signs


class Inline:
    """Processes the text between two blank lines, line by line."""

    def __init__(self) -> None:
        self._is_sure = True  # no construct from an earlier line is open

    def line(self, text: str) -> str:
        """Process a whole line, or the rest of a line."""
        return self._scan(f"{text}\n", is_whole=True)[0][:-1]

    def feed(self, text: str) -> tuple[str, str]:
        """Process a piece of a line; return the text to show, and the text to process later."""
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
        """Return the safe form of a sign and its source's length; None if it is incomplete."""
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
                if after == "`":  # a backtick here may end a code span, but starts none
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
    """Process a closing bracket; disable an unsafe link target that follows."""
    if text[at + 1] not in "(:":
        return "]", 1
    if not is_whole and _UNKNOWN.fullmatch(text, at + 1):
        return None
    if _SAFE.match(text, at + 1):
        return text[at : at + 2], 2
    return f"]\\{text[at + 1]}", 2


_MOST = 1_000  # most characters to hold at the start of a line until the kind of the line is known
_OURS_HELD = 60  # the same limit for a line in a fence that may be a heading of the chat

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
    """Return text for a fence, in which no line is a heading of the chat."""
    return _OURS.sub(" ", plain(text))


def quoted(text: str) -> str:
    """Return text as a block quote, with every line marked as quoted."""
    blocks = re.split(r"(\n(?:[ \t]*\n)+)", plain(text).strip())
    words = "".join("\n".join(map(Inline().line, one.split("\n"))) for one in blocks)
    return "\n".join(f"> {line}".rstrip() for line in words.split("\n"))


class Neutral:
    """Takes one reply in pieces, and returns text that is safe in the document."""

    def __init__(self) -> None:
        self._rest = ""  # held text: a line of unknown kind, or an unfinished sign
        self._is_inside = False  # whether the beginning of this line was already returned
        self._fence = ""  # the fence that is open
        self._indent = 0  # columns of indent to remove from lines in the fence
        self._is_paragraph = False  # whether the previous line is part of a paragraph
        self._words = Inline()

    def feed(self, text: str) -> str:
        """Add a piece; return the text that is harmless so far."""
        text = self._rest + text
        held = "\r" if text.endswith("\r") else ""  # a line feed may follow
        *lines, last = plain(text[: len(text) - len(held)]).split("\n")
        given = [self._line(line) + "\n" for line in lines]
        given.append(self._beginning(last) if not held else "")
        self._rest = (last + held) if held else self._rest
        return "".join(given)

    def finish(self) -> str:
        """Finish the reply: return the held text, and close an open fence."""
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
        """Return whether the line may still become something else than plain text."""
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
        """Open a fence at column 0; never open a fence in a quote, because its end is unclear."""
        prefix, run = fence["prefix"], fence["run"]
        # with a ``|``, some editors would read the line as the head of a table
        info = fence["info"].replace("|", "/")
        if ">" in prefix:
            return self._words.line(f"{prefix}\\{run}{info}")
        self._fence, self._is_paragraph = run, False
        self._words = Inline()
        self._indent = len(prefix.expandtabs(4))
        marks = prefix.rstrip()
        # without a gap, the mark would turn the line above into a heading
        gap = "\n" if was_paragraph else ""
        return f"{gap}{marks}\n{run}{info}" if marks else f"{run}{info}"


def _forced(line: str) -> str:
    """Treat a line as text if its beginning stays unclear for too long."""
    return f"\\{line[: _MOST + 1].lstrip()}{line[_MOST + 1 :]}"


def _dedented(line: str, columns: int) -> str:
    """Return a line without its first columns of white space."""
    if not columns:
        return line
    words = line.lstrip(" \t")
    blanks = line[: len(line) - len(words)].expandtabs(4)
    return blanks[columns:] + words


SUMMARY_CHARACTERS = 160
# characters of a diff or an output in the document; the log has all of them
MOST_CHARACTERS = 6_000
_HEAD = 4_000
_TICKS = lazy_pattern(r"`{3,}")


def details(summary: str, *parts: str) -> str:
    """Return a collapsible section with a visible line; only the line if there are no parts."""
    line = escaped(short_line(summary, SUMMARY_CHARACTERS))
    if not any(parts):
        return f"<details><summary>{line}</summary></details>"
    inside = "\n\n".join(filter(None, parts))
    return f"<details><summary>{line}</summary>\n\n{inside}\n\n</details>"


def fence(text: str, language: str = "") -> str:
    """Return a text in a fence longer than any in the text; a long text as head and tail."""
    body = inert(bounded(text)).strip("\n")
    longest = max((len(run[0]) for run in _TICKS.finditer(body)), default=2)
    mark = "`" * (longest + 1)
    return f"{mark}{language}\n{body}\n{mark}"


def bounded(text: str) -> str:
    """Return at most about ``MOST_CHARACTERS``, with a note on the omitted text."""
    if len(text) <= MOST_CHARACTERS:
        return text
    tail = MOST_CHARACTERS - _HEAD
    left_out = len(text) - MOST_CHARACTERS
    said = f"[… {left_out:,} characters; all of it is in the session …]"
    return f"{text[:_HEAD]}\n{said}\n{text[-tail:]}"


def escaped(text: str) -> str:
    """Escape text for an HTML element."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def code(text: str) -> str:
    """Return a short text as inline code on one line; a backtick becomes an apostrophe."""
    return f"`{short_line(text, SUMMARY_CHARACTERS).replace('`', chr(39)) or ' '}`"
