"""Harness tags: their names, and how text that imitates them is made harmless (H8, H9).

A tag opens or closes only if the harness wrote it. ``neutralise`` runs over every text of a user,
a file, a tool or an editor before it is wrapped or sent, and replaces the opening bracket of
whatever a model could read as one of our tags.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

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
    "remembered-facts",
    "approved-plan",
    "project-instructions",
    "conversation-summary",
    "left-out",
    "task-card",
    "agent-todo",
)
"""Every tag that the harness writes; a test keeps this and ``injections`` equal."""

HARMLESS = "&lt;"
"""What stands in place of the bracket: readable for a model, and no look-alike of ``<``."""

# Less-than, and what Unicode's confusables table or a font makes look like it.
BRACKETS = "<＜﹤‹❬❮❰〈\u2329⟨⦑⧼《⟪«≺≪⋘⋖≮˂ᐸᚲ𐊆𝈶"  # noqa: RUF001 - look-alikes are the point

# Of those, and of what looks like greater-than, the ones that are letters of some script.
_LETTER_BRACKETS = frozenset(one for one in BRACKETS if one.isalnum()) | {"\u1433", "\U00016f3f"}

# Blanks that count as letters, marks or symbols: joiner, Hangul and Khmer fillers, Braille.
NO_INK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
"""What shows nothing although its category says otherwise; with all variation selectors."""

# Letters of our tags in scripts that look the same; NFKD folds full-width and mathematical ones.
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
# Between letters of one name, for a reader who looks past them.
_BETWEEN = frozenset(":.+\\~*·•\u29fa\u29f9")
_FILLERS = frozenset("/\\／⁄∕⧸＼\u29f9\u29fa|[{(!?'\"`.\ufffd" + BRACKETS)  # noqa: RUF001 - look-alikes are the point
_LONGEST = 200  # characters in which a name stands, if nobody hides it
_NAMES = tuple(re.sub("[-_]", "", tag) for tag in TAGS)
_FIRST = "".join(sorted({name[0] for name in _NAMES}))
# The look-ahead only saves time: an ASCII letter or sign behind the bracket that begins no tag.
_PREFIX = re.compile(r"[\w.-]{1,32}:")  # a namespace: ``<x:skill>``
_BRACKET = re.compile(
    f"[{re.escape(BRACKETS)}]"
    f"(?![-=+*)}}\\]$%&,;:@^~#0-9]|(?![{_FIRST}{_FIRST.upper()}])[A-Za-z](?![\\w.-]{{0,31}}:))"
)

# Code uses two of the names as well, and both tags only mark data. So what can be nothing but a
# type argument or a comparison stays as it is: ``List<Skill>``, ``level < skill;``.
_ORDINARY = re.compile(
    r"(?<=[\w.:])<\[?(?:Skill|ConversationSummary)(?=\s?[>,\[\]|&?<])"
    r"|(?<=[\w.:])<(?i:task|conversation|project)(?:\.|::)(?:Card|Summary|Instructions)(?=\s?[>,&?<])"
    r"|(?<=[\w)\]] )<<? (?P<quote>['\"]?)(?i:skill)(?P=quote)(?="
    r" ?[;:,)\]}&|+*%?.\[(]| [-+*/%] \w| (?:and|or|then|do|else|if)\b"
    r"|[ ]{0,8}(?:\Z|\r?\n(?!\s{0,64}(?:[\w:-]{1,64}\s{0,8}=|/?>))))"
)


def neutralise(text: str) -> str:
    """Make every imitation of a harness tag in ``text`` harmless; all else stays as it is.

    Any case, spacing, attributes, invisible characters, look-alike brackets and letters, opening
    or closing. Idempotent. Work is proportional to the length of ``text``.
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
    """Put ``<`` back where ``neutralise`` could have taken it: what a model copied of a file."""
    before, *rest = text.split(HARMLESS)
    parts = [before]
    for piece in rest:
        is_ours = neutralise(f"<{piece[:_LONGEST]}").startswith(HARMLESS)
        parts += "<" if is_ours else HARMLESS, piece
    return "".join(parts)


@lru_cache(maxsize=4096)
def shows_nothing(character: str) -> bool:
    """Is it a control, format, unassigned or private character, half a pair, or a blank?"""
    return unicodedata.category(character) in {"Cc", "Cf", "Cn", "Co", "Cs"} or character in NO_INK


def _imitation(text: str, at: int) -> tuple[list[int], int]:
    """The brackets to replace in the run that begins at ``at``, and where to look on.

    A run is brackets with slashes, spaces and the like between them; all of it stands before the
    same name, or before none. No character belongs to two runs, which keeps the work linear.
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
    """Would somebody who reads past spaces and invisible marks see one of our names at ``at``?"""
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
    """Does the word go on, so that it is another name (``<skillet>``, ``<skill-set>``)?"""
    return character in _JOINERS or (folded.isalnum() and character not in _LETTER_BRACKETS)


@lru_cache(maxsize=4096)
def _is_filler(character: str) -> bool:
    folded = _fold(character).strip()
    return character.isspace() or _is_invisible(character) or not folded or folded in _FILLERS


@lru_cache(maxsize=4096)
def _fold(character: str) -> str:
    """The plain letters that it looks like: no width, no style, no accent, no case."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    return "".join(one for one in plain if unicodedata.category(one) != "Mn").translate(_LOOK_ALIKE)


@lru_cache(maxsize=4096)
def _is_invisible(character: str) -> bool:
    if character.isspace():
        return False
    return shows_nothing(character) or unicodedata.category(character) in {"Mn", "Me"}
