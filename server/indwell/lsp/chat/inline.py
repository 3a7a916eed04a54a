r"""Words within one line, and what of them may be shown as it stands. Pure.

Escaped are ``<`` before whatever could begin HTML, ``![``, and the beginning of a link's target
that is neither of the web nor a relative path, whatever way it is written. A code span stays as it
is only if it is surely one: it ends on its line, and since the last blank line nothing was open.
"""

from __future__ import annotations

import re

_MOST_SPAN = 400  # characters of a code span that is waited for
_MOST_TARGET = 200  # of a target, up to what tells its kind

_SIGN = re.compile(r"[\\<!\]`$]")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_NAME = rf"[\w.~+@-]{{0,{_MOST_TARGET}}}"
_SAFE = re.compile(
    rf"(?:\(|:[ \t]{{0,80}})(?!/[/\\])(?:https?://|mailto:|{_NAME}[/#?)]|(?=[^\s]){_NAME}\s)",
    re.IGNORECASE,
)
_UNKNOWN = re.compile(rf"(?:\(|:[ \t]{{0,80}})?(?:{_NAME}|https?:/?|/)", re.IGNORECASE)
_UNSURE_IN_SPAN = frozenset("|$")  # a table's cell or a formula ends where it likes


class Inline:
    """The words between two blank lines, line by line."""

    def __init__(self) -> None:
        self._is_sure = True  # nothing is open that began on an earlier line

    def line(self, text: str) -> str:
        """The whole of a line, or all the rest of it."""
        return self._scan(f"{text}\n", is_whole=True)[0][:-1]

    def feed(self, text: str) -> tuple[str, str]:
        """A piece of a line: what can be given, and what must come again with more behind it."""
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
        """How a sign is shown, and how much of the text that was; None if more must come."""
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
                if after == "`":  # it may end a code span, but begins none
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
    """A bracket's end: with a target behind it, that is safe or made none."""
    if text[at + 1] not in "(:":
        return "]", 1
    if not is_whole and _UNKNOWN.fullmatch(text, at + 1):
        return None
    if _SAFE.match(text, at + 1):
        return text[at : at + 2], 2
    return f"]\\{text[at + 1]}", 2
