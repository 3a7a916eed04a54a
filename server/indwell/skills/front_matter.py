"""Parses Markdown with YAML front matter: named values between two ``---`` lines. Pure.

The values are untrusted data from the file's author. Each value therefore stays the text as written
(``on`` is not a boolean, ``1.10`` not a number), references are impossible, and sizes are bounded.
Callers ask for a boolean or number by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from indwell.errors import UserError
from indwell.lazy_pattern import lazy_pattern

# The YAML's limit in characters is enough for a line or two for each of a dozen keys.
MOST_CHARACTERS = 8_192

_MARK = lazy_pattern(r"---[ \t]*(?:\r?\n|\Z)")
_END = lazy_pattern(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_TRUE = frozenset({"true", "yes", "on"})
_FALSE = frozenset({"false", "no", "off"})


class BadFrontMatter(UserError):
    """The front matter is invalid; the message says why, without the file's name."""


class MarkdownDocument(msgspec.Struct, frozen=True):
    """A parsed Markdown file.

    Attributes:
        values: The values of the front matter, or empty if there is none.
        body: The Markdown after the front matter.
    """

    values: Mapping[str, Any]
    body: str

    def text(self, name: str) -> str:
        """Return a value as one line, or an empty text if missing.

        Raises:
            BadFrontMatter: The value is a list or a mapping.
        """
        value = self.values.get(name, "")
        if not isinstance(value, str):
            raise BadFrontMatter(f"{name!r} has to be text")
        return " ".join(value.split())

    def names(self, name: str) -> tuple[str, ...] | None:
        """Return a list of names, as YAML or separated by commas or spaces, or None if missing.

        Raises:
            BadFrontMatter: The value is not a list of names.
        """
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, str):
            return tuple(re.split(r"[\s,]+", value.strip())) if value.strip() else ()
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise BadFrontMatter(f"{name!r} has to be a list of words")
        return tuple(" ".join(one.split()) for one in value)

    def flag(self, name: str) -> bool | None:
        """Return a boolean, or None if missing.

        Raises:
            BadFrontMatter: The value is neither ``true`` nor ``false``.
        """
        word = self.text(name).lower()
        if not word:
            return None
        if word not in _TRUE | _FALSE:
            raise BadFrontMatter(f"{name!r} has to be true or false, not {word[:40]!r}")
        return word in _TRUE

    def number(self, name: str) -> int | None:
        """Return a whole number of at most nine digits, or None if missing.

        Raises:
            BadFrontMatter: The value is not a number of this form.
        """
        word = self.text(name)
        if not word:
            return None
        if not re.fullmatch(r"[0-9]{1,9}", word):
            raise BadFrontMatter(f"{name!r} has to be a whole number, not {word[:40]!r}")
        return int(word)


def read_document(text: str) -> MarkdownDocument:
    """Parse a Markdown file; if there is no front matter, the whole file is the body.

    Raises:
        BadFrontMatter: The front matter has no end, is too large, or is not YAML of names and plain
            values.
    """
    text = text.removeprefix("\ufeff")
    begin = _MARK.match(text)
    if begin is None:
        return MarkdownDocument({}, text)
    end = _END.search(text, begin.end())
    if end is None:
        raise BadFrontMatter("the line `---` that ends the front matter is missing")
    front = text[begin.end() : end.start()]
    if len(front) > MOST_CHARACTERS:
        raise BadFrontMatter(f"the front matter has more than {MOST_CHARACTERS:,} characters")
    from indwell.skills.plain_yaml import (  # noqa: PLC0415 - most workspaces have no such file
        BadYaml,
        read_values,
    )

    try:
        values = read_values(front)
    except BadYaml as error:
        raise BadFrontMatter(str(error)) from error
    return MarkdownDocument(values, text[end.end() :].lstrip("\r\n"))
