"""The doctor's findings for a bug report: Markdown without keys, names, passwords. Pure.

What is taken out: keys and everything that looks like one, the home folder, the names of user and
machine, and user, password, query and fragment of every address.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit, urlunsplit

import msgspec

from indwell.cli.doctor.check import Findings
from indwell.settings.redaction import told_address

SHORTEST = 3  # characters of a user's or machine's name that is taken out; shorter ones are words
COMMON = frozenset({"root", "user", "admin", "localhost", "home", "indwell"})
"""Names that say nothing about a person."""

_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\"<>|)]+", re.IGNORECASE)
_KEY_LIKE = re.compile(  # an underscore before it is no letter: `secret_sk-…`
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|pk|rk|gsk|xai|hf|ghp|gho|key|tok)[-_][A-Za-z0-9_-]{6,}|AIza[A-Za-z0-9_-]{10,})"
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}")
_MAIL = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")


class Private(msgspec.Struct, frozen=True):
    """What must not stand in a report.

    Attributes:
        secrets: Keys and tokens, as they are.
        homes: The home folder, in all its spellings.
        names: Of the user and the machine.
    """

    secrets: tuple[str, ...] = ()
    homes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def report(findings: Findings, private: Private) -> str:
    """The findings as Markdown, redacted."""
    lines = ["### indwell doctor", "", "| | what | found |", "|---|---|---|"]
    for one in findings:
        mend = f" → {one.mend}" if one.mend else ""
        found = redacted(f"{one.sentence}{mend}", private)
        lines.append(f"| {one.state} | {redacted(one.name, private)} | {_cell(found)} |")
    return "\n".join(lines) + "\n"


def redacted(text: str, private: Private) -> str:
    """``text`` without what is private."""
    for secret in _longest_first(private.secrets):
        text = text.replace(secret, "[key]")
    text = _ADDRESS.sub(lambda match: _plain_address(match[0]), text)
    text = _KEY_LIKE.sub("[key]", text)
    text = _BEARER.sub(r"\1 [key]", text)
    text = _MAIL.sub("[mail]", text)
    for home in _longest_first(private.homes):
        text = text.replace(home, "~")
    for name in _longest_first(private.names):
        if len(name) >= SHORTEST and name.lower() not in COMMON:
            whole_word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
            text = whole_word.sub("[name]", text)
    return text


def _plain_address(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:
        return "[address]"
    return told_address(urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")))


def _longest_first(texts: Iterable[str]) -> Sequence[str]:
    """So that no part of a longer one is left over; the empty one would be everywhere."""
    return sorted({text for text in texts if text}, key=len, reverse=True)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
