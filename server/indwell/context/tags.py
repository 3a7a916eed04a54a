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
    "ide_diagnostics",
    "user-prompt-submit-hook",
    "pre-tool-use-hook",
    "post-tool-use-hook",
    "skill",
    "project-instructions",
    "conversation-summary",
    "task-card",
)
"""Every tag that the harness writes; a test keeps this and ``injections`` equal."""

HARMLESS = "&lt;"
"""What stands in place of the bracket: readable for a model, and no look-alike of ``<``."""

# Less-than, and what Unicode's confusables table or a font makes look like it.
BRACKETS = "<＜﹤‹❮❰〈〈⟨⦑⧼《⟪«≺≪⋖˂ᐸ𐊆𝈶"  # noqa: RUF001 - look-alikes are the point
_WINDOW = 160  # characters looked at behind a bracket: the longest tag, generously padded

# Letters of our tags in scripts that look the same; NFKC folds full-width and mathematical ones.
_LOOK_ALIKE = str.maketrans(
    "асԁеɡһіјӏкмոорԛѕтυνԝхуοαιɪκⅼερτ",
    "acdeghijlkmnopqstuvwxyoaiiklept",
)
_JOINERS = "-_‐‑‒–—−﹣－＿"  # noqa: RUF001 - look-alikes are the point
_NAMES = tuple(re.sub("[-_]", "", tag) for tag in TAGS)
_FIRST = "".join(sorted({name[0] for name in _NAMES}))
# The look-ahead only saves time: an ASCII letter or sign behind the bracket that begins no tag.
_BRACKET = re.compile(
    f"[{re.escape(BRACKETS)}](?![-=+*(){{}}\\[\\]$%&,;:@^~#0-9]|(?![{_FIRST}{_FIRST.upper()}])[A-Za-z])"
)


def neutralise(text: str) -> str:
    """Make every imitation of a harness tag in ``text`` harmless; all else stays as it is.

    Any case, spacing, attributes, invisible characters, look-alike brackets and letters, opening
    or closing. Idempotent. Work is proportional to the length of ``text``.
    """
    parts: list[str] = []
    copied = 0
    for match in _BRACKET.finditer(text):
        at = match.start()
        if _opens_a_tag(text[at + 1 : at + 1 + _WINDOW]):
            parts += text[copied:at], HARMLESS
            copied = at + 1
    if not parts:
        return text
    return "".join((*parts, text[copied:]))


def _opens_a_tag(behind: str) -> bool:
    """Would somebody who reads past spaces, slashes and invisible marks see one of our tags?"""
    letters: list[str] = []
    names = _NAMES
    for character in behind:
        if _is_invisible(character):
            continue
        folded = _fold(character)
        if not letters and (not folded or not folded.isalnum()):
            if folded in _FILLERS or not folded or character.isspace():
                continue
            return False
        if any(name == "".join(letters) for name in names) and not _continues(character, folded):
            return True
        if character.isspace() or character in _JOINERS:
            continue
        letters.append(folded)
        so_far = "".join(letters)
        names = tuple(name for name in names if name.startswith(so_far))
        if not names:
            return False
    return any(name == "".join(letters) for name in names)


_FILLERS = frozenset("/\\／⁄∕⧸＼|!?'\"`." + BRACKETS)  # noqa: RUF001 - look-alikes are the point


def _continues(character: str, folded: str) -> bool:
    """Does the word go on, so that it is another name (``<skillet>``, ``<skill-set>``)?"""
    return folded.isalnum() or character in _JOINERS


@lru_cache(maxsize=4096)
def _fold(character: str) -> str:
    return unicodedata.normalize("NFKC", character).casefold().translate(_LOOK_ALIKE)


@lru_cache(maxsize=4096)
def _is_invisible(character: str) -> bool:
    return unicodedata.category(character) in {"Cf", "Mn", "Me", "Cc"} and character not in "\n\t\r"
