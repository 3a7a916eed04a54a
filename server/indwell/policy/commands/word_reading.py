"""The words of a parsed shell text, and a record of all that is found in it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from indwell.policy.commands.items import Assignment, Item, Oddity
from indwell.policy.commands.shell_words import UNKNOWN
from indwell.policy.commands.words import Unreadable, Word, word_of

if TYPE_CHECKING:
    from tree_sitter import Node

SUBSTITUTIONS = frozenset(["command_substitution", "process_substitution"])

_ARITHMETIC = re.compile(r"\$\(\([\d\s+\-*/%<>=!&|^~?:()]*\)\)")
_WITH_NAMES = re.compile(r"\$\(\([\w\s+\-*/%<>=!&|^~?:(),]*\)\)")  # no subscripts
_JOINED = re.compile(rb"(?<=[^\s])\\\n(?=[^\s])")


class WordReading(ABC):
    """What is found in a text, and how its words are read.

    Args:
        command: The text.

    Attributes:
        data: The text in UTF-8.
        items: What it is made of, in the order in which it would be run.
        runs: The words of each simple command, where they stand in bytes: what a second reader must
            find as well.
        expands: Words of it come from commands, arithmetic or braces (CMD-13).
    """

    def __init__(self, command: str) -> None:
        self.data = command.encode("utf-8", "surrogatepass")
        self.items: list[Item] = []
        self.runs: set[tuple[tuple[int, int], ...]] = set()
        self.expands = False
        self._values: dict[str, tuple[str, ...]] = {}

    @abstractmethod
    def _read_nested(self, node: Node) -> None:
        """Read a substitution."""

    @abstractmethod
    def _read_inside(self, node: Node) -> None:
        """Read what runs within a node that is no command itself."""

    def _assignment(self, node: Node) -> Assignment:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or name.type != "variable_name":
            self._odd(node, "computes which variable it sets", hard=True)
            self._read_inside(node)
            return Assignment(text_of(name) if name else "", None)
        if value is None:
            return Assignment(text_of(name), Word("", ("",)))
        if value.type == "array":
            for child in value.named_children:
                self._word(child)
            return Assignment(text_of(name), None)
        return Assignment(text_of(name), self._word(value))

    def _word(self, node: Node) -> Word | None:
        """A word; none, and an oddity, if it cannot be read."""
        shown = text_of(node)
        if node.type in {"word", "number", "raw_string"} or not node.is_named:
            source = shown
        else:
            source = self._without_substitutions(node)
        try:
            word = word_of(source, shown, self._values)
        except Unreadable as why:
            hard = not str(why).startswith(("is written", "names another"))
            self._odd(node, str(why), hard=hard)
            return None
        self.expands |= word.splits and "{" in shown and not shown.startswith("${")
        return word

    def _without_substitutions(self, node: Node) -> str:
        """The source of a word with a mark for each substitution, which is read by itself."""
        found = []
        todo = [node]
        while todo:
            one = todo.pop()
            if one.type in SUBSTITUTIONS or one.type == "arithmetic_expansion":
                found.append(one)
            else:
                todo.extend(reversed(one.named_children))
        pieces, at = [], node.start_byte
        for one in found:
            self.expands = True
            pieces += [self.data[at : one.start_byte].decode("utf-8", "replace"), UNKNOWN]
            at = one.end_byte
            if one.type == "arithmetic_expansion":
                if not _ARITHMETIC.fullmatch(text_of(one)):
                    hard = not _WITH_NAMES.fullmatch(text_of(one))
                    self._odd(one, "computes with values that only a run can tell", hard=hard)
                    self._read_inside(one)
            else:
                if one.type == "process_substitution":
                    self._odd(one, "connects a command by a file name", hard=False)
                self._read_nested(one)
        return "".join(pieces) + self.data[at : node.end_byte].decode("utf-8", "replace")

    def _run(self, spans: list[tuple[int, int]]) -> None:
        if spans:
            self.runs.add(tuple(sorted(spans)))

    def _check_lines(self, root: Node) -> None:
        r"""Bash takes a backslash and a line's end out before it looks for words; a parser may not.

        ``$\`` and ``(evil)`` on two lines are one substitution. Only blanks around it, or quotes,
        make it harmless.
        """
        for found in _JOINED.finditer(self.data):
            start = found.start()
            inside = root.descendant_for_byte_range(start, start + 1)
            if inside is None or inside.type not in {"raw_string", "heredoc_body"}:
                self._joins(start, found.end())

    def _joins(self, start: int, end: int) -> None:
        """A line that goes on in the middle of a word: bash and the parser take it differently."""
        self.items.append(
            Oddity("goes on in the next line within a word", start, end, is_hard=True)
        )

    def _odd(self, node: Node, reason: str, *, hard: bool) -> None:
        self.items.append(Oddity(reason, node.start_byte, node.end_byte, hard))


def span(node: Node) -> tuple[int, int]:
    """Where a node stands, in bytes."""
    return node.start_byte, node.end_byte


def text_of(node: Node) -> str:
    """Its source."""
    return (node.text or b"").decode("utf-8", "replace")
