"""Finds the fenced blocks of a page of the documentation, so that tests run users' examples."""

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
    """A fenced block: its language, the rest of the fence line, and its text."""

    language: str
    title: str
    text: str


def examples(page: str, language: str = "") -> tuple[Example, ...]:
    """Return the blocks of ``docs/<page>`` in order, or those of one language.

    Raises:
        AssertionError: The page has no example, which would make the test useless.
    """
    text = (DOCS / page).read_text("utf-8")
    found = tuple(
        Example(one["language"], one["more"].strip(), one["text"]) for one in _FENCE.finditer(text)
    )
    wanted = tuple(one for one in found if language in {"", one.language})
    assert wanted, f"{page} has no example in {language or 'any language'}"
    return wanted
