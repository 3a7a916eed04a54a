"""Folded details and fences, which nothing in them can leave. Pure."""

from __future__ import annotations

import re

from indwell.lsp.chat.neutral import inert
from indwell.policy.approvals import short_line

SUMMARY_CHARACTERS = 160
MOST_CHARACTERS = 6_000  # of a diff or an output in the document; the session's log has all
_HEAD = 4_000
_TICKS = re.compile(r"`{3,}")


def details(summary: str, *parts: str) -> str:
    """A fold with a line that stays visible; without parts only the line."""
    line = escaped(short_line(summary, SUMMARY_CHARACTERS))
    if not any(parts):
        return f"<details><summary>{line}</summary></details>"
    inside = "\n\n".join(filter(None, parts))
    return f"<details><summary>{line}</summary>\n\n{inside}\n\n</details>"


def fence(text: str, language: str = "") -> str:
    """A text in a fence that is longer than any in it; a long one with its head and tail."""
    body = inert(bounded(text)).strip("\n")
    longest = max((len(run[0]) for run in _TICKS.finditer(body)), default=2)
    mark = "`" * (longest + 1)
    return f"{mark}{language}\n{body}\n{mark}"


def bounded(text: str) -> str:
    """At most about ``MOST_CHARACTERS``, with what was left out said."""
    if len(text) <= MOST_CHARACTERS:
        return text
    tail = MOST_CHARACTERS - _HEAD
    left_out = len(text) - MOST_CHARACTERS
    said = f"[… {left_out:,} characters; all of it is in the session …]"
    return f"{text[:_HEAD]}\n{said}\n{text[-tail:]}"


def escaped(text: str) -> str:
    """Text for an element of HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def code(text: str) -> str:
    """A short text as inline code on one line; a backtick becomes an apostrophe."""
    return f"`{short_line(text, SUMMARY_CHARACTERS).replace('`', chr(39)) or ' '}`"
