"""Texts of whoever inside Markdown, from which nothing breaks out and nothing hides. Pure."""

from __future__ import annotations

import re
from html import escape

from indwell.policy.approvals import one_line, visible

_TICKS = re.compile(r"`+")
_FENCE = re.compile(r" {0,3}(?P<run>`{3,}|~{3,})(?P<rest>.*)")
_TAG = re.compile(r"<(?=[!?/A-Za-z])")
_MARKUP = re.compile(r"([\\`*\[\]<|]|(?<!\w)_|_(?!\w))")


def fenced(text: str, language: str = "") -> str:
    r"""A text as a code block: its fence is longer than any run of ticks in it.

    What hides or turns text is shown as its code point; line ends are ``\n``.
    """
    shown = visible(text.replace("\r\n", "\n"))
    longest = max((len(run) for run in _TICKS.findall(shown)), default=0)
    fence = "`" * max(3, longest + 1)
    end = "" if not shown or shown.endswith("\n") else "\n"
    return f"{fence}{language}\n{shown}{end}{fence}\n"


def inline(text: str) -> str:
    """A text as one line that no Markdown is read in: for headings, lists and table cells."""
    return _MARKUP.sub(r"\\\1", one_line(text))


def contained(text: str) -> str:
    """Markdown of somebody else that ends where it ends: no open fence, no HTML, no hidden text."""
    lines, fence = [], ""
    for line in visible(text.replace("\r\n", "\n")).rstrip("\n").split("\n"):
        found = _FENCE.fullmatch(line)
        if fence:
            is_end = found and found["run"].startswith(fence) and not found["rest"].strip()
            fence = "" if is_end else fence
        elif found and not (found["run"][0] == "`" and "`" in found["rest"]):
            fence = found["run"]
        else:
            line = _TAG.sub("&lt;", line)  # noqa: PLW2901 - the line as it is shown
        lines.append(line)
    return "\n".join([*lines, *([fence] if fence else []), ""])


def folded(title: str, inside: str) -> str:
    """Blocks that a reader opens; ``title`` is of whoever, ``inside`` is Markdown already."""
    return f"<details><summary>{escape(one_line(title))}</summary>\n\n{inside}\n</details>\n"


def bounded(text: str, most: int) -> str:
    """At most so many characters: the two ends, and words about what stands between them."""
    if len(text) <= most:
        return text
    head, tail = most * 3 // 4, most - most * 3 // 4
    n_cut = len(text) - head - tail
    return f"{text[:head]}\n[… {n_cut:,} characters are not shown …]\n{text[len(text) - tail :]}"
