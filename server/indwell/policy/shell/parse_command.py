"""Reads one simple command of a syntax tree: words, assignments, redirects, here-documents."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from indwell.lazy_pattern import lazy_pattern
from indwell.policy.shell.items import (
    AT_START,
    Assignment,
    Item,
    Oddity,
    Redirect,
    Simple,
    after_cd,
)
from indwell.policy.shell.words import UNKNOWN, UnreadableWord, Word, word_of

if TYPE_CHECKING:
    from tree_sitter import Node

SUBSTITUTIONS = frozenset(["command_substitution", "process_substitution"])

_ARITHMETIC = lazy_pattern(r"\$\(\([\d\s+\-*/%<>=!&|^~?:()]*\)\)")
# The pattern matches arithmetic without subscripts.
_WITH_NAMES = lazy_pattern(r"\$\(\([\w\s+\-*/%<>=!&|^~?:(),]*\)\)")
_JOINED = lazy_pattern(rb"(?<=[^\s])\\\n(?=[^\s])")


class WordReading(ABC):
    """Reads words, and collects the parts of a shell text.

    Args:
        command: The text.

    Attributes:
        data: The text in UTF-8.
        items: The parts, in the order in which they would run.
        runs: The words of each simple command as byte ranges; a second parser must find the same
            ranges.
        expands: Whether words come from commands, arithmetic or braces (CMD-13).
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
        """Read the commands within a node that is not a command itself."""

    def _assignment(self, node: Node) -> Assignment:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or name.type != "variable_name":
            self._odd(node, "sets a variable whose name is computed", hard=True)
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
        """Read a word; add an oddity and return None if the word cannot be read."""
        shown = text_of(node)
        if node.type in {"word", "number", "raw_string"} or not node.is_named:
            source = shown
        else:
            source = self._without_substitutions(node)
        try:
            word = word_of(source, shown, self._values)
        except UnreadableWord as why:
            hard = not str(why).startswith(("is written", "names another"))
            self._odd(node, str(why), hard=hard)
            return None
        self.expands |= word.splits and "{" in shown and not shown.startswith("${")
        return word

    def _without_substitutions(self, node: Node) -> str:
        """Return a word's source, with a placeholder for each substitution."""
        found = []
        pending = [node]
        while pending:
            one = pending.pop()
            if one.type in SUBSTITUTIONS or one.type == "arithmetic_expansion":
                found.append(one)
            else:
                pending.extend(reversed(one.named_children))
        pieces, at = [], node.start_byte
        for one in found:
            self.expands = True
            pieces += [self.data[at : one.start_byte].decode("utf-8", "replace"), UNKNOWN]
            at = one.end_byte
            if one.type == "arithmetic_expansion":
                if not _ARITHMETIC.fullmatch(text_of(one)):
                    hard = not _WITH_NAMES.fullmatch(text_of(one))
                    self._odd(one, "computes with values known only at run time", hard=hard)
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
        r"""Check joined lines: bash removes the backslash first, but parsers may not.

        ``$\`` and ``(evil)`` on two lines are one substitution. A backslash is harmless only within
        quotes or between blanks.
        """
        for found in _JOINED.finditer(self.data):
            start = found.start()
            inside = root.descendant_for_byte_range(start, start + 1)
            if inside is None or inside.type not in {"raw_string", "heredoc_body"}:
                self._joins(start, found.end())

    def _joins(self, start: int, end: int) -> None:
        """Check for a line that continues within a word: bash and the parser differ there."""
        self.items.append(Oddity("continues a word on the next line", start, end, is_hard=True))

    def _odd(self, node: Node, reason: str, *, hard: bool) -> None:
        self.items.append(Oddity(reason, node.start_byte, node.end_byte, hard))


def span(node: Node) -> tuple[int, int]:
    """Return a node's byte range."""
    return node.start_byte, node.end_byte


def text_of(node: Node) -> str:
    """Return a node's source."""
    return (node.text or b"").decode("utf-8", "replace")


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
_BACKTICK = lazy_pattern(r"(?<!\\)(?:\\\\)*`")


class _Found(msgspec.Struct):
    """The parts of a command found so far; ``spans`` are the byte ranges of the command's words."""

    words: list[Word] = msgspec.field(default_factory=list)
    redirects: list[Redirect] = msgspec.field(default_factory=list)
    spans: list[tuple[int, int]] = msgspec.field(default_factory=list)
    texts: list[str] = msgspec.field(default_factory=list)


class CommandReading(WordReading):
    """Reads a simple command in any position of a text."""

    def __init__(self, command: str) -> None:
        super().__init__(command)
        self._folders = AT_START
        self._nested = 0
        self._piped = False
        self._changing: frozenset[str] = frozenset()

    @abstractmethod
    def _read(self, node: Node) -> None:
        """Read one node and all nodes beneath it."""

    def _read_command(self, node: Node | None, around: list[Node]) -> None:
        """Read a simple command with its redirects, or the redirects of a whole construct."""
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
            self._odd(node, "is a construct that Indwell does not analyse", hard=True)
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
                        self._odd(child, "gives a command input known only at run time", hard=True)
                case _ if child.type in WORDS:  # Words after a redirect belong to the command.
                    self._argument(child, found)
                case _:  # Other nodes follow the first line of a here-document.
                    self._read(child)
        found.redirects.append(Redirect(operator, target, node.start_byte, node.end_byte))

    def _backticks(self, body: Node) -> None:
        """Report backticks, in which bash sees a substitution and the parser does not."""
        pieces = _BACKTICK.split(text_of(body))
        if len(pieces) > 1:
            texts = tuple(re.sub(r"\\([\\`$])", r"\1", one) for one in pieces[1::2])
            reason = "runs the text in backticks within a text"
            self.items.append(Oddity(reason, *span(body), is_hard=True, texts=texts))

    def _here_document(self, body: Node) -> None:
        if any(child.type != "heredoc_content" for child in body.named_children):
            self._odd(body, "contains a text in which bash replaces variables", hard=False)
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
        """Store a variable's value if the variable is set only once, because loops repeat."""
        self._values[name] = (UNKNOWN,) if name in self._changing else options

    def _word_or_any(self, node: Node) -> Word:
        """Return a word; an unreadable word becomes a word with unknown text."""
        return self._word(node) or Word(text_of(node), (UNKNOWN,), splits=True)


def _stands_alone(redirect: Node) -> bool:
    """Return whether a redirect belongs to no command, group or loop."""
    parent = redirect.parent
    return parent is None or (
        parent.type != "heredoc_redirect" and parent.child_by_field_name("body") is None
    )


if TYPE_CHECKING:
    from tree_sitter import Node

MAY_SET = lazy_pattern(rb"=|\bfor\b")
LOOP_NAME = lazy_pattern(
    r"(?!(?:path|cdpath|fpath|manpath|mailpath|module_path|argv|status|options|commands|functions"
    r"|aliases|\w+_proxy)$)_?[a-z][a-z0-9_]*|_|[A-Z]|FILE|DIR|LINE|NAME|ITEM"
)
"""Names of loop variables that no program reads from the environment."""

_PLAIN = lazy_pattern(r"[\w%\\ :.,=+-]*")
_SETTING = frozenset(
    [b"read", b"mapfile", b"readarray", b"getopts", b"printf", b"unset", b"wait", b"let"]
)
"""Builtins that set the variables they name."""


def changed_again(root: Node) -> frozenset[str]:
    """Return names that are set more than once, by assignments, loops or builtins."""
    found: Counter[str] = Counter()
    sets_any = False
    pending = [root]
    while pending:
        node = pending.pop()
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
            # The command may set any variable.
            if not all(_PLAIN.fullmatch(word) for word in words):
                sets_any = True
        pending.extend(node.named_children)
    return frozenset(name for name, n_times in found.items() if sets_any or n_times > 1)


def surely_runs(node: Node) -> bool:
    """Return whether an assignment always runs, and runs in the main shell."""
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
