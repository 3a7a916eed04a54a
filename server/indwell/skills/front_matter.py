"""Parses Markdown with YAML front matter: named values between two ``---`` lines. Pure.

The values are untrusted data from the file's author. So each value stays the text as written
(``on`` is not a boolean, ``1.10`` not a number), references are impossible, and sizes are bounded.
Callers ask for a boolean or number by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
import yaml

from indwell.errors import UserError

MOST_CHARACTERS = 8_192  # of the YAML; a line or two for each of a dozen keys
MOST_DEPTH = 8  # nested collections
MOST_NODES = 500
_TOO_MUCH = "the front matter is nested too deeply, or has too many values"

Value: TypeAlias = "str | list[Value] | dict[str, Value]"

_MARK = re.compile(r"---[ \t]*(?:\r?\n|\Z)")
_END = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
# ``description: Use when: …``, which much software writes and YAML refuses.
_LOOSE = re.compile(
    r"^([A-Za-z][\w-]*):[ \t]+(?![\s\"'|>\[{&*!#%@`])(.*:(?:[ \t].*)?)$", re.MULTILINE
)
_BAD = (yaml.YAMLError, ValueError, ArithmeticError, RecursionError)
"""Errors of PyYAML for invalid text: for ``"\\UFFFFFFFF"`` and similar it raises Python's."""
_TRUE = frozenset({"true", "yes", "on"})
_FALSE = frozenset({"false", "no", "off"})


class BadFrontMatter(UserError):
    """The front matter is invalid; the message says why, without the file's name."""


class MarkdownDocument(msgspec.Struct, frozen=True):
    """A parsed Markdown file.

    Attributes:
        values: The front matter; empty if there is none.
        body: The Markdown after it.
    """

    values: Mapping[str, Any]
    body: str

    def text(self, name: str) -> str:
        """Return a value as one line; empty if missing.

        Raises:
            It is a list or a mapping.
        """
        value = self.values.get(name, "")
        if not isinstance(value, str):
            raise BadFrontMatter(f"{name!r} has to be text")
        return " ".join(value.split())

    def names(self, name: str) -> tuple[str, ...] | None:
        """Return a list of words, as YAML or separated by commas or spaces; None if missing.

        Raises:
            It is anything else.
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
        """Return a boolean; None if missing.

        Raises:
            It is neither ``true`` nor ``false``.
        """
        word = self.text(name).lower()
        if not word:
            return None
        if word not in _TRUE | _FALSE:
            raise BadFrontMatter(f"{name!r} has to be true or false, not {word[:40]!r}")
        return word in _TRUE

    def number(self, name: str) -> int | None:
        """Return a whole number of at most nine digits; None if missing.

        Raises:
            It is not such a number.
        """
        word = self.text(name)
        if not word:
            return None
        if not re.fullmatch(r"[0-9]{1,9}", word):
            raise BadFrontMatter(f"{name!r} has to be a whole number, not {word[:40]!r}")
        return int(word)


def read_document(text: str) -> MarkdownDocument:
    """Parse a Markdown file; without front matter all of it is the body.

    Raises:
        The front matter has no end, is too large, or is not YAML of names and plain values.
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
    return MarkdownDocument(_values(front), text[end.end() :].lstrip("\r\n"))


def _values(front: str) -> Mapping[str, Value]:
    try:
        value = _loaded(front)
    except _BAD as error:
        try:
            value = _loaded(_LOOSE.sub(_quoted, front))
        except _BAD:
            raise BadFrontMatter(f"the front matter is no YAML: {_why(error)}") from error
    if value is None or value == "":
        return {}
    if not isinstance(value, dict):
        raise BadFrontMatter("the front matter has to be lines such as `name: value`")
    return value


def _quoted(match: re.Match[str]) -> str:
    escaped = match[2].rstrip().replace("'", "''")
    return f"{match[1]}: '{escaped}'"


def _why(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem:
        line = error.problem_mark.line + 2 if error.problem_mark is not None else 0
        return error.problem[:200] + (f" (line {line})" if line else "")
    return " ".join(str(error).split())[:200]


def _loaded(front: str) -> Value | None:
    loader = _Plain(front)
    try:
        node = loader.get_single_node()
        return None if node is None else _plain(node)
    finally:
        loader.dispose()


class _Plain(yaml.BaseLoader):
    """Composes texts, lists and mappings; a value cannot refer to another one.

    Brackets are counted while they are scanned, up to a thousand ahead of composing: their cost
    grows with the number of open ones.
    """

    def __init__(self, front: str) -> None:
        super().__init__(front)
        self._depth = 0
        self._n_nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:  # noqa: ANN401 - PyYAML's
        """Compose the next node.

        Raises:
            It is an alias, or there is too much.
        """
        if self.check_event(yaml.AliasEvent):
            raise BadFrontMatter("the front matter may not use aliases (`*name`)")
        self._n_nodes += 1
        self._depth += 1
        if self._depth > MOST_DEPTH or self._n_nodes > MOST_NODES:
            raise BadFrontMatter(_TOO_MUCH)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def fetch_flow_collection_start(self, token_class: Any) -> None:  # noqa: ANN401 - PyYAML's
        """Scan an opening bracket.

        Raises:
            Too many brackets are open.
        """
        if self.flow_level >= MOST_DEPTH:
            raise BadFrontMatter(_TOO_MUCH)
        super().fetch_flow_collection_start(token_class)


def _plain(node: yaml.Node) -> Value:
    """Return the text of a node and of its children.

    Raises:
        A key is not a text, or occurs twice.
    """
    if isinstance(node, yaml.ScalarNode):
        return str(node.value)
    if isinstance(node, yaml.SequenceNode):
        return [_plain(one) for one in node.value]
    found: dict[str, Value] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise BadFrontMatter("a name in the front matter has to be text")
        if key.value in found:
            raise BadFrontMatter(f"{key.value[:40]!r} stands twice in the front matter")
        found[key.value] = _plain(value)
    return found
