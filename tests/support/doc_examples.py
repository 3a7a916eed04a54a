"""The examples of a page: fenced blocks that a test runs, so that what users copy works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[2] / "docs"

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[\w-]+)(?P<more>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


class Example(NamedTuple):
    """A block: its language, the rest of the fence line, and its text."""

    language: str
    title: str
    text: str


def examples(page: str, language: str = "") -> tuple[Example, ...]:
    """The blocks of ``docs/<page>``, in order; of one language if that is given.

    Raises:
        AssertionError: The page has no example: a test without one proves nothing.
    """
    text = (DOCS / page).read_text("utf-8")
    found = tuple(
        Example(one["language"], one["more"].strip(), one["text"]) for one in _FENCE.finditer(text)
    )
    wanted = tuple(one for one in found if language in {"", one.language})
    assert wanted, f"{page} has no example in {language or 'any language'}"
    return wanted
