"""Parses a shell text into the commands that it runs. Unknown syntax never passes.

Here-documents are removed from a long text before the text is judged. Text that is not certainly a
here-document stays, so the command may count as too long.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from indwell.lazy_pattern import lazy_pattern
from indwell.policy.shell.items import either
from indwell.policy.shell.parse_command import (
    LOOP_NAME,
    MAY_SET,
    SUBSTITUTIONS,
    WORDS,
    CommandReading,
    changed_again,
    span,
    text_of,
)
from indwell.policy.shell.words import UNKNOWN

if TYPE_CHECKING:
    from tree_sitter import Node

# One text has at most 3,000 syntax nodes, which take tens of milliseconds; real sessions have up to
# 322.
MOST_NODES = 3_000
DEEPEST = 40  # At most 40 constructs are nested.

_COMMANDS = frozenset(["command", "test_command", "unset_command", "declaration_command"])
_LISTS = frozenset(
    [
        *("program", "do_group", "compound_statement", "else_clause", "elif_clause"),
        *("if_statement", "negated_command", "command_name", "while_statement"),
    ]
)


class Tangle(Exception):
    """The text is too long or too deep to be judged."""


class ShellReading(CommandReading):
    """Reads one text.

    Args:
        command: The text.

    Attributes:
        is_broken: Whether the parser did not understand the text.

    Raises:
        Tangle: The text is too long or too deep.
    """

    def __init__(self, command: str) -> None:
        super().__init__(command)
        self._depth = 0
        # The redirects of a list are stored by its last command.
        self._behind: dict[int, list[Node]] = {}
        root = bash_parser().parse(self.data).root_node
        self.is_broken = root.has_error
        if root.descendant_count > MOST_NODES:
            raise Tangle
        if MAY_SET.search(self.data):
            self._changing = changed_again(root)
        self._check_lines(root)
        self._read(root)

    def _read(self, node: Node) -> None:  # noqa: C901 - one case for each kind of node
        """Read one node and all nodes beneath it."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise Tangle
        kind = node.type
        match kind:
            case _ if kind in _COMMANDS:
                self._read_command(node, self._behind.get(node.id, []))
            case "redirected_statement":
                self._read_redirected(node)
            case "variable_assignment" | "variable_assignments":
                self._read_assignments(node)
            case "list":
                self._read_list(node)
            case "pipeline" | "subshell":
                self._read_apart(node)
            case "for_statement":
                self._read_for(node)
            case "file_redirect" | "heredoc_redirect" | "herestring_redirect":
                self._read_command(None, [node])
            case "comment":
                pass
            case _ if kind in _LISTS:
                self._read_children(node)
            case _ if node.is_named or kind == "&":
                self._read_odd(node)
        self._depth -= 1

    def _read_children(self, node: Node) -> None:
        """Read consecutive statements; a ``cd`` may have failed before the next statement."""
        for child in node.children:
            before = self._folders
            self._read(child)
            self._folders = either(before, self._folders)

    def _read_odd(self, node: Node) -> None:
        """Read a construct of an unknown kind, and the commands in it."""
        reasons = {
            "&": "runs in the background",
            "function_definition": "defines a function",
            "case_statement": "chooses by a pattern",
            "c_style_for_statement": "computes",
            "ERROR": "is not understood",
        }
        hard = node.type not in {"&", "case_statement"}
        self._odd(node, reasons.get(node.type, "is a construct that is not analysed"), hard=hard)
        for child in node.named_children:
            if child.type in WORDS or child.type == "case_item":
                self._read_inside(child)
            else:
                self._read(child)

    def _read_inside(self, node: Node) -> None:
        """Read the commands within a node that is not a command itself."""
        pending = [node]
        while pending:
            one = pending.pop()
            if one.type in SUBSTITUTIONS:
                self._read_nested(one)
            elif one.type in {"command", "pipeline", "list", "redirected_statement"}:
                self._read(one)
            else:
                pending.extend(reversed(one.named_children))

    def _read_nested(self, node: Node) -> None:
        before, piped = self._folders, self._piped
        self._nested, self._piped = self._nested + 1, False
        self._read_children(node)
        self._nested, self._piped, self._folders = self._nested - 1, piped, before

    def _read_apart(self, node: Node) -> None:
        """Read a subshell or pipeline; changes of folder and variables end with the construct."""
        before, piped = self._folders, self._piped
        for child in node.children:
            self._read(child)
            if node.type == "pipeline":
                self._folders = before
                self._piped |= child.type in {"|", "|&"}
        self._folders, self._piped = before, piped

    def _read_list(self, node: Node) -> None:
        """Read ``a && b``: if ``a`` is a ``cd``, ``b`` runs only if the ``cd`` succeeded."""
        for child in node.children:
            before = self._folders
            self._read(child)
            if any(one.type == "||" for one in node.children):
                self._folders = either(before, self._folders)

    def _read_for(self, node: Node) -> None:
        name = node.child_by_field_name("variable")
        values = [self._word(one) for one in node.children_by_field_name("value")]
        spans = [span(child) for child in node.children[1:] if child.type not in {";", "do_group"}]
        self._run(spans)
        if any(child.type == "select" for child in node.children) or name is None:
            self._odd(node, "asks the person at the terminal", hard=True)
        elif values and all(value is not None for value in values):
            options = [text for value in values if value for text in value.options]
            splits = any(value.splits for value in values if value)
            unknown = splits or len(options) > 16  # noqa: PLR2004 - as the options of a word
            self._set(text_of(name), (UNKNOWN,) if unknown else tuple(options))
        if name is not None and not LOOP_NAME.fullmatch(text_of(name)):
            self._odd(name, f"sets {text_of(name)!r}, which may change what runs", hard=False)
        for child in node.children:
            if child.type == "do_group":
                self._read(child)
        if name is not None:  # The assignment may not have run, or ran in another shell.
            self._values[text_of(name)] = (UNKNOWN,)

    def _read_redirected(self, node: Node) -> None:
        body = node.child_by_field_name("body")
        redirects = [child for child in node.named_children if child.type.endswith("_redirect")]
        last = body
        while last is not None and last.type in {"list", "pipeline", "negated_command"}:
            last = last.named_children[-1]
        if last is not None and last.type in _COMMANDS:
            self._behind[last.id] = [*redirects, *self._behind.get(last.id, [])]
        elif last is not None and last.type == "redirected_statement":
            self._odd(node, "is redirected twice", hard=True)
        for child in node.children:
            if not child.type.endswith("_redirect"):
                self._read(child)
        if last is None or last.type not in _COMMANDS:
            self._read_command(None, redirects)


if TYPE_CHECKING:
    from tree_sitter import Parser


@cache
def bash_parser() -> Parser:
    """Return the process's parser for bash; texts are parsed one at a time."""
    import tree_sitter  # noqa: PLC0415 - 20 ms, which no start is to wait for
    import tree_sitter_bash  # noqa: PLC0415

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


# Users can be expected to read 8,000 characters of a command, without its here-documents.
LIMIT = 8_000
MOST = 100_000  # The whole command has at most 100,000 characters.

_START = lazy_pattern(r"<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n$`\\]+)\"|([A-Za-z_]\w*))")
_FILLED_IN = lazy_pattern(r"[$`\\]")
_RUNS_TEXTS = lazy_pattern(
    r"(?<![\w-])(?:\w*sh|eval|source|xargs|parallel|env|sudo|doas|su|busybox|exec|nohup|time|nice"
    r"|timeout|command|builtin|setsid|trap|tclsh|expect|at|batch|crontab)(?![\w-])|(?:^|[;&|({\s])\.\s",
    re.MULTILINE,
)
"""Programs that may run a here-document as commands, which then counts in a command's length."""


def judged_text(command: str) -> str:
    """Return the text to judge; a long text loses its here-documents, or becomes empty."""
    if len(command) <= LIMIT:
        return command
    if len(command) > MOST:
        return ""
    short, n_texts = _without_texts(command)
    if not n_texts or len(short) > LIMIT or _RUNS_TEXTS.search(short):
        return ""
    return short if _n_here_documents(short) == n_texts else ""


def _without_texts(command: str) -> tuple[str, int]:
    """Return the command without the texts of its here-documents, and their number."""
    lines = command.split("\n")
    kept: list[str] = []
    n_texts = 0
    at = 0
    while at < len(lines):
        kept.append(lines[at])
        starts = list(_START.finditer(lines[at]))
        at += 1
        for start in starts:
            word = start[2] or start[3] or start[4]
            ends = (
                number
                for number in range(at, len(lines))
                if (lines[number].lstrip("\t") if start[1] else lines[number]) == word
            )
            end = next(ends, None)
            text = "\n".join(lines[at:end]) if end is not None else ""
            if end is None or (start[4] and _FILLED_IN.search(text)):
                return command, 0
            kept.append(word)
            n_texts += 1
            at = end + 1
    return "\n".join(kept), n_texts


def _n_here_documents(command: str) -> int:
    """Count the here-documents with the real parser; return None if the text is not understood."""
    root = bash_parser().parse(command.encode()).root_node
    if root.has_error:
        return 0
    waiting, n_found = [root], 0
    while waiting:
        node = waiting.pop()
        n_found += node.type == "heredoc_redirect"
        waiting += node.children
    return n_found
