r"""Escapes imitations of Indwell's tags, invisible characters and lone surrogates in text.

Only Indwell may open or close its tags. ``neutralise`` processes every text of a user, a file, a
tool or an editor before the text is wrapped or sent. ``neutralise`` replaces the opening bracket of
everything that a model could read as one of Indwell's tags.

A text can contain words that only a model reads (Unicode tag letters), or be shown in a different
order than stored (direction overrides). The model gets such characters as escapes like
``\u{202e}``. Characters that real scripts need are kept: joiners in Persian or Hindi, direction
marks next to Hebrew, emoji of several parts. In an edit, ``restored`` turns an escape back into the
character.

``visible`` and ``short_line`` prepare untrusted text for people, in questions and reports.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache

import msgspec

from indwell.lazy_pattern import lazy_pattern

TAGS = (
    "system-reminder",
    "ide_selection",
    "ide_opened_file",
    "mentioned-file",
    "attached-item",
    "ide_diagnostics",
    "changed-file",
    "user-prompt-submit-hook",
    "pre-tool-use-hook",
    "post-tool-use-hook",
    "project-hook",
    "skill",
    "available-skills",
    "available-agents",
    "changed-tools",
    "remembered-facts",
    "approved-plan",
    "project-instructions",
    "conversation-summary",
    "left-out",
    "task-card",
    "agent-todo",
)
"""The names of all tags that Indwell writes; a test compares the list with ``injections``."""

HARMLESS = "&lt;"
"""The replacement for the bracket, readable for a model and different from ``<``."""

# The less-than sign, and characters that look like it, by Unicode's confusables table or in a font.
BRACKETS = "<＜﹤‹❬❮❰〈\u2329⟨⦑⧼《⟪«≺≪⋘⋖≮˂ᐸᚲ𐊆𝈶"  # noqa: RUF001 - look-alikes are the point

# Letters of some script that look like less-than and greater-than signs.
_LETTER_BRACKETS = frozenset(one for one in BRACKETS if one.isalnum()) | {"\u1433", "\U00016f3f"}

# Invisible characters that Unicode counts as letters, marks or symbols: joiner, Hangul and Khmer
# fillers, Braille blank.
NO_INK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
"""Invisible characters with the category of visible characters, and all variation selectors."""

# Letters of other scripts that look like those of Indwell's tags; NFKD folds full-width and
# mathematical letters.
_LOOK_ALIKE = str.maketrans(
    "асԁеɡһіјӏкмոорԛѕтυνԝхуοαιɪκⅼερτı"
    "ꓮꓐꓚꓓꓰꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜꓝ"  # noqa: RUF001 - look-alikes are the point: Lisu
    "ᴀʙᴄᴅᴇꜰɢʜᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ"
    "ᎠᎡᎢᎬᎷᏚᎻᏞᏟᏢᏦᎫᎪᏀᏙ",  # noqa: RUF001 - look-alikes are the point: Cherokee
    "acdeghijlkmnopqstuvwxyoaiiklepti"
    "abcdeghijklmnoprstuvwxyzf"
    "abcdefghjklmnoprstuvwyz"
    "drtemshlcpkjagv",
)
_JOINERS = "-_‐‑‒–—−﹣－＿"  # noqa: RUF001 - look-alikes are the point
# Characters between the letters of a name that a reader may ignore.
_BETWEEN = frozenset(":.+\\~*·•\u29fa\u29f9")
_FILLERS = frozenset("/\\／⁄∕⧸＼\u29f9\u29fa|[{(!?'\"`.\ufffd" + BRACKETS)  # noqa: RUF001 - look-alikes are the point
_LONGEST = 200  # A tag's name is searched within 200 characters after a bracket.
_NAMES = tuple(re.sub("[-_]", "", tag) for tag in TAGS)
_FIRST = "".join(sorted({name[0] for name in _NAMES}))
# The lookahead only saves time, because it skips an ASCII letter or sign that cannot begin a tag.
_PREFIX = lazy_pattern(r"[\w.-]{1,32}:")  # matches a namespace, as in ``<x:skill>``
_BRACKET = lazy_pattern(
    f"[{re.escape(BRACKETS)}]"
    f"(?![-=+*)}}\\]$%&,;:@^~#0-9]|(?![{_FIRST}{_FIRST.upper()}])[A-Za-z](?![\\w.-]{{0,31}}:))"
)

# Two tag names also occur in code, and both tags only mark data. Type arguments and comparisons
# therefore stay unchanged: ``List<Skill>``, ``level < skill;``.
_ORDINARY = lazy_pattern(
    r"(?<=[\w.:])<\[?(?:Skill|ConversationSummary)(?=\s?[>,\[\]|&?<])"
    r"|(?<=[\w.:])<(?i:task|conversation|project)(?:\.|::)(?:Card|Summary|Instructions)(?=\s?[>,&?<])"
    r"|(?<=[\w)\]] )<<? (?P<quote>['\"]?)(?i:skill)(?P=quote)(?="
    r" ?[;:,)\]}&|+*%?.\[(]| [-+*/%] \w| (?:and|or|then|do|else|if)\b"
    r"|[ ]{0,8}(?:\Z|\r?\n(?!\s{0,64}(?:[\w:-]{1,64}\s{0,8}=|/?>))))"
)


def neutralise(text: str) -> str:
    """Escape every imitation of Indwell's tags in ``text``; other text stays unchanged.

    The function recognises any case, spacing, attributes, invisible characters, and look-alikes of
    brackets and letters, in opening and closing tags. The function is idempotent and takes linear
    time.
    """
    parts: list[str] = []
    copied = looked = 0
    for match in _BRACKET.finditer(text):
        if match.start() < looked:
            continue
        brackets, looked = _imitation(text, match.start())
        for at in brackets:
            parts += text[copied:at], HARMLESS
            copied = at + 1
    if not parts:
        return text
    return "".join((*parts, text[copied:]))


def with_tags(text: str) -> str:
    """Restore each ``<`` that ``neutralise`` may have replaced in text copied from a file."""
    before, *rest = text.split(HARMLESS)
    parts = [before]
    for piece in rest:
        is_ours = neutralise(f"<{piece[:_LONGEST]}").startswith(HARMLESS)
        parts += "<" if is_ours else HARMLESS, piece
    return "".join(parts)


@lru_cache(maxsize=4096)
def shows_nothing(character: str) -> bool:
    """Return whether the character is invisible, such as a control or format character."""
    return unicodedata.category(character) in {"Cc", "Cf", "Cn", "Co", "Cs"} or character in NO_INK


def _imitation(text: str, at: int) -> tuple[list[int], int]:
    """Return the brackets to replace in the imitation that begins at ``at``, and where to go on.

    An imitation is a sequence of brackets, perhaps with slashes, spaces and similar characters in
    between, and perhaps followed by a name. No character belongs to two imitations, so the time is
    linear.
    """
    brackets = [at]
    after = at + 1
    while after < len(text) and (text[after] in BRACKETS or _is_filler(text[after])):
        if text[after] in BRACKETS:
            brackets.append(after)
        after += 1
    begin = after
    is_tag, after = _name(text, begin)
    if not is_tag and (prefix := _PREFIX.match(text, begin)):
        is_tag, beyond = _name(text, prefix.end())
        after = max(after, beyond)
    if not is_tag or _ORDINARY.match(text, at):
        return [], after
    return brackets, after


def _name(text: str, at: int) -> tuple[bool, int]:
    """Return whether a tag's name is here for a reader who ignores spaces and invisible signs."""
    letters, names = "", _NAMES
    while at < len(text):
        character = text[at]
        if not _is_invisible(character):
            folded = _fold(character)
            if letters in names and not _continues(character, folded):
                return True, at
            is_gap = character.isspace() or character in _JOINERS
            if not is_gap and not (letters and character in _BETWEEN):
                letters += folded
                names = tuple(name for name in names if name.startswith(letters))
                if not names:
                    return False, at
        at += 1
    return letters in names, at


def _continues(character: str, folded: str) -> bool:
    """Return whether the word continues, as in ``<skillet>`` and ``<skill-set>``."""
    return character in _JOINERS or (folded.isalnum() and character not in _LETTER_BRACKETS)


@lru_cache(maxsize=4096)
def _is_filler(character: str) -> bool:
    folded = _fold(character).strip()
    return character.isspace() or _is_invisible(character) or not folded or folded in _FILLERS


@lru_cache(maxsize=4096)
def _fold(character: str) -> str:
    """Return the plain letters that a character looks like, without style, accent or case."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    return "".join(one for one in plain if unicodedata.category(one) != "Mn").translate(_LOOK_ALIKE)


@lru_cache(maxsize=4096)
def _is_invisible(character: str) -> bool:
    if character.isspace():
        return False
    return shows_nothing(character) or unicodedata.category(character) in {"Mn", "Me"}


MOST = 200  # the limit of invisible characters that are escaped; further ones are removed

_NEARBY = 80  # A direction mark needs a right-to-left letter within 80 characters.

_HIDDEN = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_RUN = lazy_pattern(f"[{_HIDDEN}]+")
# Characters that need a closer check. The pattern skips a single joiner in a script with joiners,
# and a single variation selector after a sign, because texts can have many of them.
_DOUBTFUL = lazy_pattern(
    rf"(?=[{_HIDDEN}])(?!(?<=[\u0600-\u18ff\ua800-\uabff\U00010a00-\U00011fff])[\u200c\u200d](?![{_HIDDEN}]))"
    rf"(?!(?<=[^\x00-\x7f])[\ufe0e\ufe0f](?![{_HIDDEN}]))[{_HIDDEN}]+"
)
_RIGHT_TO_LEFT = lazy_pattern(
    "[\u0590-\u061b\u061d-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_ESCAPE = lazy_pattern(r"\\u\{([0-9a-f]{2,6})\}")
# The flags of England, Scotland and Wales: a black flag and invisible letters.
_FLAGS = lazy_pattern("\U0001f3f4(?:gbeng|gbsct|gbwls)\U000e007f".translate(
    {ord(letter): 0xE0000 + ord(letter) for letter in "begnlstwc"}
))  # fmt: skip

_SCRIPTS_BY_CHARACTER = {
    # This character separates words of Thai, Lao, Burmese and Khmer.
    "\u200b": range(0x0E00, 0x1800),
    "\u115f": range(0x1100, 0x1200), "\u1160": range(0x1100, 0x1200),  # old Hangul
    "\u17b4": range(0x1780, 0x1800), "\u17b5": range(0x1780, 0x1800),  # Khmer
    "\u034f": range(0x0300, 0x0E00),  # accents of Greek, points of Hebrew
    **dict.fromkeys("\u180b\u180c\u180d\u180e\u180f", range(0x1800, 0x18B0)),  # Mongolian
    # used in signs of mathematics and in Han
    **dict.fromkeys("\ufe00\ufe01\ufe02", range(0x2000, 0x30000)),
    **dict.fromkeys(map(chr, range(0xE0100, 0xE01F0)), range(0x3400, 0x33480)),  # Han
}  # fmt: skip
"""Invisible characters that some scripts need, and the ranges of these scripts."""
_KEYCAP = "\u20e3"


class VisibleText(msgspec.Struct, frozen=True):
    """A text whose characters are all visible.

    Attributes:
        text: The text with escapes in place of invisible characters.
        n_escaped: Number of invisible characters that were escaped.
        n_left_out: The number of invisible characters that were removed, because there were more
            than ``MOST``.
    """

    text: str
    n_escaped: int = 0
    n_left_out: int = 0

    @property
    def notice(self) -> str:
        """The note about the escapes, or empty if there are no escapes."""
        if not self.n_escaped:
            return ""
        one = self.n_escaped == 1
        words = f"{self.n_escaped:,} invisible character{'' if one else 's'} in this text"
        left_out = f", {self.n_left_out:,} of them left out" if self.n_left_out else ""
        return (
            f"[{words}, shown as \\u{{…}}{left_out}: people do not see {'it' if one else 'them'}]"
        )


def seen(text: str) -> VisibleText:
    """Escape invisible characters that no script needs, in linear time."""
    if text.isascii() or not _RUN.search(text):
        return VisibleText(text)
    parts: list[str] = []
    copied = n_escaped = n_left_out = 0
    kept_until = 0
    for run in _DOUBTFUL.finditer(text):
        if run.start() < kept_until:
            continue
        # If a text has too many invisible characters, scripts get no exceptions.
        if n_escaped >= MOST:
            rest = _RUN.sub("", text[copied:])
            n_more = len(text) - copied - len(rest)
            return VisibleText("".join((*parts, rest)), n_escaped + n_more, n_left_out + n_more)
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
    return VisibleText("".join((*parts, text[copied:])), n_escaped, n_left_out)


def is_unseen(text: str) -> bool:
    """Return whether all characters of the text are invisible."""
    return not _RUN.sub("", text).strip()


def noted(text: str) -> str:
    """Return the text with escapes; after escapes, add a note at the end."""
    found = seen(text)
    return f"{found.text}\n{found.notice}" if found.notice else found.text


def restored(text: str, original: str) -> str:
    r"""Replace escapes with characters, in a text that the model saw with escapes.

    If ``original`` itself contains the letters ``\u{202e}``, as code of some languages does, the
    letters are kept.
    """

    def character(escape: re.Match[str]) -> str:
        code = int(escape[1], 16)
        one = chr(code) if code <= sys.maxunicode else ""
        is_meant = one in original and escape[0] not in original and _RUN.fullmatch(one)
        return one if is_meant else escape[0]

    return _ESCAPE.sub(character, text) if "\\u{" in text else text


def _belongs(text: str, start: int, stop: int) -> bool:
    """Return whether invisible characters belong to the script of the text around them."""
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
    """Return whether the character is a pictograph, a skin tone, or an arrow between both."""
    return bool(character) and unicodedata.category(character) in {"So", "Sk", "Sm"}


def _is_right_to_left(text: str, at: int) -> bool:
    """Return whether a letter of a right-to-left script is nearby, on the same line."""
    line = text[max(0, at - _NEARBY) : at].rpartition("\n")[2]
    line += text[at + 1 : at + _NEARBY].partition("\n")[0]
    return _RIGHT_TO_LEFT.search(line) is not None


def scalar_text(text: str) -> str:
    """Make ``text`` encodable: a surrogate pair becomes one character, a lone surrogate U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


LONG_LINES = 15  # the approximate number of lines that a dialog shows
LONG_CHARACTERS = 1_200
_READ = 4  # Four times the line's length is read, because blanks are folded.
_CONTROL = lazy_pattern(r"[\x00-\x08\x0b-\x1f\x7f]")
_BLANK = r"[ \t\r\v\f\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u2800\u3000]"
_EMPTY_LINES = lazy_pattern(rf"\n(?:{_BLANK}*\n){{3,}}")
_BLANKS = lazy_pattern(rf"{_BLANK}{{41,}}")
_PLAIN_NAME = lazy_pattern(r"(?:[A-Za-z]:(?=[/\\]))?[\w./\\~@+=%#-]+")


def visible(text: str) -> str:
    """Escape every character that could hide, reorder or fake text that a person reads."""
    if text.isascii() and not _CONTROL.search(text):
        return text
    return "".join(
        character if character in "\n\t" or not _hides(character) else _code_point(character)
        for character in text
    )


def folded(text: str) -> str:
    """Replace many empty lines and blanks with a note, because they push text out of sight."""
    short = narrow(text)
    lines = text.count("\n") + 1
    if lines <= LONG_LINES and len(text) <= LONG_CHARACTERS:
        return short
    return f"[{lines:,} lines, {len(text):,} characters; look at all of them]\n{short}"


def narrow(text: str) -> str:
    """Replace long sequences of blanks with a note."""
    short = _EMPTY_LINES.sub(lambda run: f"\n[… {run[0].count(chr(10)) - 1} empty lines …]\n", text)
    return _BLANKS.sub(lambda run: f" [… {len(run[0])} blanks …] ", short)


def one_line(text: str) -> str:
    """Return ``visible`` text without anything that begins a new line or column."""
    return visible(text).replace("\n", _code_point("\n")).replace("\t", _code_point("\t"))


def named(name: str) -> str:
    """Return a name as one visible line, in quotes unless the name is plain.

    Without quotes, a name with spaces or punctuation could look like a part of the sentence.
    """
    return name if _PLAIN_NAME.fullmatch(name) else visible(repr(name))


def short_line(text: str, most: int) -> str:
    """Return any text as one visible line of at most ``most`` characters, with folded blanks.

    Use this function for names and reports; the subject of a question must never be cut.
    """
    shown = visible(" ".join(text[: _READ * most].split()))
    is_whole = len(shown) <= most and len(text) <= _READ * most
    return shown if is_whole else f"{shown[: most - 1]}…"


def _code_point(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"  # noqa: PLR2004 - planes


def _hides(character: str) -> bool:
    return shows_nothing(character) or (character.isspace() and character not in " \n\t")
