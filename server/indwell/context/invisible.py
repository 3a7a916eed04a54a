r"""Characters that show nothing: the model gets them as ``\u{202e}``, as people cannot see them.

Text can hold words that nobody but a model reads (Unicode's tag letters), or stand in another order
than it shows (overrides of direction). What makes real text of the world's scripts look right stays
as it is: joiners in Persian or Hindi, marks of direction beside Hebrew, emoji of several parts. An
edit that gives such an escape back means the character (``restored``).
"""

from __future__ import annotations

import re
import sys
import unicodedata

import msgspec

MOST = 200  # that are shown one by one; the rest of them only takes room, and is left out

_NEARBY = 80  # characters to each side in which a mark of direction needs a letter

_HIDDEN = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_RUN = re.compile(f"[{_HIDDEN}]+")
# Those that need a look: a single joiner in a script that has them, and a single choice of a
# style behind a sign, are passed over here, as texts can be full of them.
_DOUBTFUL = re.compile(
    rf"(?=[{_HIDDEN}])(?!(?<=[\u0600-\u18ff\ua800-\uabff\U00010a00-\U00011fff])[\u200c\u200d](?![{_HIDDEN}]))"
    rf"(?!(?<=[^\x00-\x7f])[\ufe0e\ufe0f](?![{_HIDDEN}]))[{_HIDDEN}]+"
)
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u061b\u061d-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_ESCAPE = re.compile(r"\\u\{([0-9a-f]{2,6})\}")
# England, Scotland and Wales: a black flag and letters that show nothing; the only ones in use.
_FLAGS = re.compile("\U0001f3f4(?:gbeng|gbsct|gbwls)\U000e007f".translate(
    {ord(letter): 0xE0000 + ord(letter) for letter in "begnlstwc"}
))  # fmt: skip

_SCRIPTS_BY_CHARACTER = {
    "\u200b": range(0x0E00, 0x1800),  # between words of Thai, Lao, Burmese, Khmer
    "\u115f": range(0x1100, 0x1200), "\u1160": range(0x1100, 0x1200),  # old Hangul
    "\u17b4": range(0x1780, 0x1800), "\u17b5": range(0x1780, 0x1800),  # Khmer
    "\u034f": range(0x0300, 0x0E00),  # accents of Greek, points of Hebrew
    **dict.fromkeys("\u180b\u180c\u180d\u180e\u180f", range(0x1800, 0x18B0)),  # Mongolian
    **dict.fromkeys("\ufe00\ufe01\ufe02", range(0x2000, 0x30000)),  # signs of mathematics, Han
    **dict.fromkeys(map(chr, range(0xE0100, 0xE01F0)), range(0x3400, 0x33480)),  # Han
}  # fmt: skip
"""What belongs to characters of some scripts alone, and to which."""
_KEYCAP = "\u20e3"


class Seen(msgspec.Struct, frozen=True):
    """A text in which everything shows.

    Attributes:
        text: With escapes.
        n_escaped: Characters that show nothing by themselves.
        n_left_out: Those beyond ``MOST``, which are gone.
    """

    text: str
    n_escaped: int = 0
    n_left_out: int = 0

    @property
    def notice(self) -> str:
        """What to say of it; empty if there was nothing."""
        if not self.n_escaped:
            return ""
        one = self.n_escaped == 1
        words = f"{self.n_escaped:,} invisible character{'' if one else 's'} in this text"
        left_out = f", {self.n_left_out:,} of them left out" if self.n_left_out else ""
        return (
            f"[{words}, shown as \\u{{…}}{left_out}: people do not see {'it' if one else 'them'}]"
        )


def seen(text: str) -> Seen:
    """Escape what shows nothing and is not needed; work grows with the text, and no faster."""
    if text.isascii() or not _RUN.search(text):
        return Seen(text)
    parts: list[str] = []
    copied = n_escaped = n_left_out = 0
    kept_until = 0
    for run in _DOUBTFUL.finditer(text):
        if run.start() < kept_until:
            continue
        if n_escaped >= MOST:  # whoever writes so many gets no care for what may belong
            rest = _RUN.sub("", text[copied:])
            n_more = len(text) - copied - len(rest)
            return Seen("".join((*parts, rest)), n_escaped + n_more, n_left_out + n_more)
        flag = _FLAGS.match(text, run.start() - 1) if run.start() else None
        if flag is not None:
            kept_until = flag.end()
            continue
        if _belongs(text, run.start(), run.end()):
            continue
        n_shown = min(len(run[0]), max(0, MOST - n_escaped))
        n_escaped += len(run[0])
        n_left_out += len(run[0]) - n_shown
        escaped = "".join(f"\\u{{{ord(one):x}}}" for one in run[0][:n_shown])
        parts += text[copied : run.start()], escaped
        copied = run.end()
    return Seen("".join((*parts, text[copied:])), n_escaped, n_left_out)


def is_unseen(text: str) -> bool:
    """Does nothing of it show?"""
    return not _RUN.sub("", text).strip()


def noted(text: str) -> str:
    """The text with escapes, and with a line at its end that says so, if there are any."""
    found = seen(text)
    return f"{found.text}\n{found.notice}" if found.notice else found.text


def restored(text: str, original: str) -> str:
    r"""Put characters in place of the escapes that ``original`` was shown with.

    Where ``original`` has ``\u{202e}`` in letters, as code of some languages has, those are meant.
    """

    def character(escape: re.Match[str]) -> str:
        code = int(escape[1], 16)
        one = chr(code) if code <= sys.maxunicode else ""
        is_meant = one in original and escape[0] not in original and _RUN.fullmatch(one)
        return one if is_meant else escape[0]

    return _ESCAPE.sub(character, text) if "\\u{" in text else text


def _belongs(text: str, start: int, stop: int) -> bool:
    """Does a run of such characters belong to what stands around it?"""
    before = text[start - 1 : start]
    after = text[stop : stop + 1]
    match text[start:stop]:
        case "\u200e" | "\u200f" | "\u061c":
            return _is_right_to_left(text, start)
        case "\u200d" | "\ufe0f\u200d":
            return _is_sign(before) and _is_sign(after)
        case "\ufe0e" | "\ufe0f":
            return after == _KEYCAP
        case one if one in _SCRIPTS_BY_CHARACTER:
            beside = before or after
            return bool(beside) and ord(beside) in _SCRIPTS_BY_CHARACTER[one]
    return False


def _is_sign(character: str) -> bool:
    """A picture, a shade of skin, or an arrow that some pictures are joined with."""
    return bool(character) and unicodedata.category(character) in {"So", "Sk", "Sm"}


def _is_right_to_left(text: str, at: int) -> bool:
    """Is there a letter of such a script nearby, on the same line?"""
    line = text[max(0, at - _NEARBY) : at].rpartition("\n")[2]
    line += text[at + 1 : at + _NEARBY].partition("\n")[0]
    return _RIGHT_TO_LEFT.search(line) is not None
