"""Parses the YAML of a front matter into texts, lists and mappings. Pure.

Only this module imports PyYAML, when the first front matter is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import yaml

from indwell.errors import UserError
from indwell.lazy_pattern import lazy_pattern

MOST_DEPTH = 8  # At most 8 collections are nested.
MOST_NODES = 500
_TOO_MUCH = "the front matter is nested too deeply, or has too many values"

Value: TypeAlias = "str | list[Value] | dict[str, Value]"

# ``description: Use when: …`` is common in other software's files, but invalid YAML.
_LOOSE = lazy_pattern(
    r"^([A-Za-z][\w-]*):[ \t]+(?![\s\"'|>\[{&*!#%@`])(.*:(?:[ \t].*)?)$", re.MULTILINE
)
_BAD = (yaml.YAMLError, ValueError, ArithmeticError, RecursionError)
"""Errors of PyYAML for invalid text: for ``"\\UFFFFFFFF"`` and similar it raises Python's."""


class BadYaml(UserError):
    """The YAML cannot be read; the message describes the fault."""


def read_values(front: str) -> Mapping[str, Value]:
    """Return the values of a front matter, by name.

    Raises:
        BadYaml: The text is not YAML of names and plain values, or it is too large.
    """
    try:
        value = _loaded(front)
    except _BAD as error:
        try:
            value = _loaded(_LOOSE.sub(_quoted, front))
        except _BAD:
            raise BadYaml(f"the front matter is not YAML: {_why(error)}") from error
    if value is None or value == "":
        return {}
    if not isinstance(value, dict):
        raise BadYaml("the front matter has to be lines such as `name: value`")
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
    """Composes texts, lists and mappings; a value cannot refer to another value.

    Brackets are counted during scanning, because the time for a bracket grows with the number of
    open brackets.
    """

    def __init__(self, front: str) -> None:
        super().__init__(front)
        self._depth = 0
        self._n_nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:  # noqa: ANN401 - PyYAML's
        """Compose the next node.

        Raises:
            BadYaml: The node is an alias, or there are too many nodes.
        """
        if self.check_event(yaml.AliasEvent):
            raise BadYaml("the front matter may not use aliases (`*name`)")
        self._n_nodes += 1
        self._depth += 1
        if self._depth > MOST_DEPTH or self._n_nodes > MOST_NODES:
            raise BadYaml(_TOO_MUCH)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def fetch_flow_collection_start(self, token_class: Any) -> None:  # noqa: ANN401 - PyYAML's
        """Scan an opening bracket.

        Raises:
            BadYaml: Too many brackets are open.
        """
        if self.flow_level >= MOST_DEPTH:
            raise BadYaml(_TOO_MUCH)
        super().fetch_flow_collection_start(token_class)


def _plain(node: yaml.Node) -> Value:
    """Return the text of a node and of its children.

    Raises:
        BadYaml: A key is not a text, or occurs twice.
    """
    if isinstance(node, yaml.ScalarNode):
        return str(node.value)
    if isinstance(node, yaml.SequenceNode):
        return [_plain(one) for one in node.value]
    found: dict[str, Value] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise BadYaml("a name in the front matter has to be text")
        if key.value in found:
            raise BadYaml(f"{key.value[:40]!r} occurs twice in the front matter")
        found[key.value] = _plain(value)
    return found
