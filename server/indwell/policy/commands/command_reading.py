"""A simple command of a parsed shell text: its words, assignments, redirects and here-documents."""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from indwell.policy.commands.folders import AT_START, after_cd
from indwell.policy.commands.items import Assignment, Oddity, Redirect, Simple
from indwell.policy.commands.setting import surely_runs
from indwell.policy.commands.shell_words import UNKNOWN
from indwell.policy.commands.word_reading import WordReading, span, text_of
from indwell.policy.commands.words import Word

if TYPE_CHECKING:
    from tree_sitter import Node

WORDS = frozenset(
    [
        *("word", "number", "string", "raw_string", "concatenation", "simple_expansion"),
        *("expansion", "command_substitution", "ansi_c_string", "translated_string"),
        *("arithmetic_expansion", "process_substitution", "brace_expression", "variable_name"),
        *("special_variable_name", "regex", "extglob_pattern", "test_operator"),
    ]
)
_BACKTICK = re.compile(r"(?<!\\)(?:\\\\)*`")


@dataclass(slots=True)
class _Found:
    """What was found of a command so far; ``spans`` are those of its words, in bytes."""

    words: list[Word] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


class CommandReading(WordReading):
    """How a simple command is read, wherever it stands."""

    def __init__(self, command: str) -> None:
        super().__init__(command)
        self._folders = AT_START
        self._nested = 0
        self._piped = False
        self._changing: frozenset[str] = frozenset()

    @abstractmethod
    def _read(self, node: Node) -> None:
        """Read one node and all beneath it."""

    def _read_command(self, node: Node | None, around: list[Node]) -> None:
        """A simple command with its redirects; without one, redirects of a whole construct."""
        found = _Found()
        assignments: list[Assignment] = []
        children = list(node.children) if node is not None else []
        for child in children:
            if child.type == "variable_assignment" and not found.words:
                assignments.append(self._assignment(child))
                found.spans.append(span(child))
            elif child.type.endswith("_redirect"):
                self._redirect(child, found)
            else:
                self._argument(child, found)
        for child in around:
            self._redirect(child, found)
        self._run(found.spans)
        whole = [one for one in (node, *around) if one is not None]
        simple = Simple(
            tuple(found.words),
            tuple(found.redirects),
            tuple(assignments),
            min(one.start_byte for one in whole),
            max(one.end_byte for one in whole),
            self._folders,
            is_nested=self._nested > 0,
            input=tuple(found.texts),
            is_piped=self._piped,
            is_bare=node is None and all(map(_stands_alone, around)),
        )
        self.items.append(simple)
        self._folders = after_cd(simple)

    def _argument(self, node: Node, found: _Found) -> None:
        if node.type == "command_name":
            self._argument(node.children[0], found)
        elif node.type in WORDS or not node.is_named or node.type == "variable_assignment":
            found.words.append(self._word_or_any(node))
            found.spans.append(span(node))
        elif node.type in {"unary_expression", "binary_expression", "parenthesized_expression"}:
            for child in node.children:
                self._argument(child, found)
        elif node.type != "comment":
            self._odd(node, "is of a kind that is not judged", hard=True)
            self._read_inside(node)

    def _redirect(self, node: Node, found: _Found) -> None:
        operator = next((child.type for child in node.children if not child.is_named), node.type)
        target: Word | None = None
        is_quoted = any(
            child.type == "heredoc_start" and re.search(r"[\\'\"]", text_of(child))
            for child in node.named_children
        )
        for child in node.named_children:
            match child.type:
                case "file_descriptor" | "heredoc_start" | "heredoc_end" | "comment":
                    continue
                case "heredoc_body":
                    found.texts.append(text_of(child))
                    if child.named_children:
                        self._here_document(child)
                    if not is_quoted:
                        self._backticks(child)
                case _ if child.type in WORDS and target is None and operator[:2] != "<<":
                    target = self._word_or_any(child)
                    found.spans.append(span(child))
                case _ if child.type in WORDS and operator == "<<<" and target is None:
                    target = self._word_or_any(child)
                    found.texts += target.options
                    if target.is_known:
                        found.spans.append(span(child))
                    else:
                        self._odd(child, "feeds a command what only a run can tell", hard=True)
                case _ if child.type in WORDS:  # words behind a redirect belong to the command
                    self._argument(child, found)
                case _:  # what stands behind the first line of a here-document
                    self._read(child)
        found.redirects.append(Redirect(operator, target, node.start_byte, node.end_byte))

    def _backticks(self, body: Node) -> None:
        """The parser sees no substitution in backticks here; bash does."""
        pieces = _BACKTICK.split(text_of(body))
        if len(pieces) > 1:
            texts = tuple(re.sub(r"\\([\\`$])", r"\1", one) for one in pieces[1::2])
            reason = "runs what stands in backticks in a text"
            self.items.append(Oddity(reason, *span(body), is_hard=True, texts=texts))

    def _here_document(self, body: Node) -> None:
        if any(child.type != "heredoc_content" for child in body.named_children):
            self._odd(body, "holds a text in which bash fills in values", hard=False)
            self._read_inside(body)

    def _read_assignments(self, node: Node) -> None:
        found = [node] if node.type == "variable_assignment" else node.named_children
        made = tuple(self._assignment(one) for one in found)
        self._run([span(one) for one in found])
        for one in made:
            known = one.value is not None and not one.value.splits and one.value.is_known
            first = one.name not in self._values and not one.name.endswith("+")
            is_sure = known and first and surely_runs(node)
            self._set(one.name, one.value.options if one.value and is_sure else (UNKNOWN,))
        self.items.append(
            Simple((), (), made, node.start_byte, node.end_byte, self._folders, self._nested > 0)
        )

    def _set(self, name: str, options: tuple[str, ...]) -> None:
        """Note what a variable holds, if it is set at one place only: loops come round again."""
        self._values[name] = (UNKNOWN,) if name in self._changing else options

    def _word_or_any(self, node: Node) -> Word:
        """A word; what cannot be read may be anything."""
        return self._word(node) or Word(text_of(node), (UNKNOWN,), splits=True)


def _stands_alone(redirect: Node) -> bool:
    """Is a redirect that of no command, group or loop?"""
    parent = redirect.parent
    return parent is None or (
        parent.type != "heredoc_redirect" and parent.child_by_field_name("body") is None
    )
