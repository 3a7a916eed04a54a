"""Which variables of a text are set at more than one place, so that nobody knows what they hold."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

MAY_SET = re.compile(rb"=|\bfor\b")
LOOP_NAME = re.compile(
    r"(?!(?:path|cdpath|fpath|manpath|mailpath|module_path|argv|status|options|commands|functions"
    r"|aliases|\w+_proxy)$)_?[a-z][a-z0-9_]*|_|[A-Z]|FILE|DIR|LINE|NAME|ITEM"
)
"""Names of loops that mean nothing to any program."""

_PLAIN = re.compile(r"[\w%\\ :.,=+-]*")
_SETTING = frozenset(
    [b"read", b"mapfile", b"readarray", b"getopts", b"printf", b"unset", b"wait", b"let"]
)
"""Programs of the shell that set what they name."""


def changed_again(root: Node) -> frozenset[str]:
    """Names that are set more than once, by assignments, loops or programs of the shell."""
    found: Counter[str] = Counter()
    sets_any = False
    todo = [root]
    while todo:
        node = todo.pop()
        if node.type in {"variable_assignment", "for_statement"}:
            name = node.child_by_field_name(
                "name" if node.type == "variable_assignment" else "variable"
            )
            found[_text(name)] += 1
        elif node.type == "unset_command" or (
            node.type == "command" and _program(node) in _SETTING
        ):
            words = [_text(child).strip("\"'") for child in node.named_children[1:]]
            found.update({word.removeprefix("-v"): 2 for word in words})
            if not all(_PLAIN.fullmatch(word) for word in words):  # it may set any
                sets_any = True
        todo.extend(node.named_children)
    return frozenset(name for name, n_times in found.items() if sets_any or n_times > 1)


def surely_runs(node: Node) -> bool:
    """Does an assignment run whatever happens, and in the shell itself?"""
    behind = node.next_sibling
    if behind is not None and behind.type == "&":
        return False
    parent = node.parent
    while parent is not None and parent.type == "list" and parent.children[0] == node:
        node, parent = parent, parent.parent
        behind = node.next_sibling
        if behind is not None and behind.type == "&":
            return False
    return parent is not None and parent.type == "program"


def _program(node: Node) -> bytes:
    name = node.child_by_field_name("name")
    return name.text or b"" if name is not None else b""


def _text(node: Node | None) -> str:
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""
