"""From a parsed shell text to what it runs: every node is visited, and only known kinds pass."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from indwell.policy.commands.folders import AT_START, after_cd, either
from indwell.policy.commands.items import Assignment, Oddity, Redirect, Simple
from indwell.policy.commands.parsing import bash_parser
from indwell.policy.commands.setting import LOOP_NAME, MAY_SET, changed_again, surely_runs
from indwell.policy.commands.shell_words import UNKNOWN
from indwell.policy.commands.word_reading import SUBSTITUTIONS, WordReading, span, text_of
from indwell.policy.commands.words import Word

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_NODES = 3_000  # of one text: tens of milliseconds; real sessions have up to 322
DEEPEST = 40  # constructs within constructs

_WORDS = frozenset(
    [
        *("word", "number", "string", "raw_string", "concatenation", "simple_expansion"),
        *("expansion", "command_substitution", "ansi_c_string", "translated_string"),
        *("arithmetic_expansion", "process_substitution", "brace_expression", "variable_name"),
        *("special_variable_name", "regex", "extglob_pattern", "test_operator"),
    ]
)
_COMMANDS = frozenset(["command", "test_command", "unset_command", "declaration_command"])
_BACKTICK = re.compile(r"(?<!\\)(?:\\\\)*`")
_LISTS = frozenset(
    [
        *("program", "do_group", "compound_statement", "else_clause", "elif_clause"),
        *("if_statement", "negated_command", "command_name", "while_statement"),
    ]
)


class Tangle(Exception):
    """It is too long or too deep to be judged."""


class Reading(WordReading):
    """One text, read.

    Args:
        command: The text.

    Attributes:
        is_broken: The parser did not understand it.

    Raises:
        Tangle: It is too long or too deep.
    """

    def __init__(self, command: str) -> None:
        super().__init__(command)
        self._folders = AT_START
        self._nested = 0
        self._depth = 0
        self._piped = False
        self._behind: dict[int, list[Node]] = {}  # redirects of the last command of a list
        root = bash_parser().parse(self.data).root_node
        self.is_broken = root.has_error
        if root.descendant_count > MOST_NODES:
            raise Tangle
        self._changing = changed_again(root) if MAY_SET.search(self.data) else frozenset[str]()
        self._check_lines(root)
        self._read(root)

    def _read(self, node: Node) -> None:  # noqa: C901 - one case for each kind of node
        """Read one node and all beneath it."""
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
        """Statements one behind the other: a ``cd`` may have failed before the next."""
        for child in node.children:
            before = self._folders
            self._read(child)
            self._folders = either(before, self._folders)

    def _read_odd(self, node: Node) -> None:
        """A construct of no known kind; what runs in it is read all the same."""
        reasons = {
            "&": "runs in the background",
            "function_definition": "defines a function",
            "case_statement": "chooses by a pattern",
            "c_style_for_statement": "computes",
            "ERROR": "is not understood",
        }
        hard = node.type not in {"&", "case_statement"}
        self._odd(node, reasons.get(node.type, "is of a kind that is not judged"), hard=hard)
        for child in node.named_children:
            if child.type in _WORDS or child.type == "case_item":
                self._read_inside(child)
            else:
                self._read(child)

    def _read_inside(self, node: Node) -> None:
        """What runs within a node that is no command itself."""
        todo = [node]
        while todo:
            one = todo.pop()
            if one.type in SUBSTITUTIONS:
                self._read_nested(one)
            elif one.type in {"command", "pipeline", "list", "redirected_statement"}:
                self._read(one)
            else:
                todo.extend(reversed(one.named_children))

    def _read_nested(self, node: Node) -> None:
        before, piped = self._folders, self._piped
        self._nested, self._piped = self._nested + 1, False
        self._read_children(node)
        self._nested, self._piped, self._folders = self._nested - 1, piped, before

    def _read_apart(self, node: Node) -> None:
        """A subshell or a pipeline: what changes in it does not outlast it."""
        before, piped = self._folders, self._piped
        for child in node.children:
            self._read(child)
            if node.type == "pipeline":
                self._folders = before
                self._piped |= child.type in {"|", "|&"}
        self._folders, self._piped = before, piped

    def _read_list(self, node: Node) -> None:
        """``a && b``: where ``a`` is a ``cd``, ``b`` runs only if it worked."""
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
        if name is not None:  # it may not have run at all, or in a shell of its own
            self._values[text_of(name)] = (UNKNOWN,)

    def _set(self, name: str, options: tuple[str, ...]) -> None:
        """Note what a variable holds, if it is set at one place only: loops come round again."""
        self._values[name] = (UNKNOWN,) if name in self._changing else options

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

    def _read_command(self, node: Node | None, around: list[Node]) -> None:
        """A simple command with its redirects; without one, redirects of a whole construct."""
        words: list[Word] = []
        assignments: list[Assignment] = []
        redirects: list[Redirect] = []
        spans: list[tuple[int, int]] = []
        texts: list[str] = []
        children = list(node.children) if node is not None else []
        for child in children:
            if child.type == "variable_assignment" and not words:
                assignments.append(self._assignment(child))
                spans.append(span(child))
            elif child.type.endswith("_redirect"):
                self._redirect(child, words, redirects, spans, texts)
            else:
                self._argument(child, words, spans)
        for child in around:
            self._redirect(child, words, redirects, spans, texts)
        self._run(spans)
        whole = [one for one in (node, *around) if one is not None]
        simple = Simple(
            tuple(words),
            tuple(redirects),
            tuple(assignments),
            min(one.start_byte for one in whole),
            max(one.end_byte for one in whole),
            self._folders,
            is_nested=self._nested > 0,
            input=tuple(texts),
            is_piped=self._piped,
            is_bare=node is None and all(map(_stands_alone, around)),
        )
        self.items.append(simple)
        self._folders = after_cd(simple)

    def _argument(self, node: Node, words: list[Word], spans: list[tuple[int, int]]) -> None:
        if node.type == "command_name":
            self._argument(node.children[0], words, spans)
        elif node.type in _WORDS or not node.is_named or node.type == "variable_assignment":
            word = self._word(node)
            words.append(word or Word(text_of(node), (UNKNOWN,), splits=True))
            spans.append(span(node))
        elif node.type in {"unary_expression", "binary_expression", "parenthesized_expression"}:
            for child in node.children:
                self._argument(child, words, spans)
        elif node.type != "comment":
            self._odd(node, "is of a kind that is not judged", hard=True)
            self._read_inside(node)

    def _redirect(
        self,
        node: Node,
        words: list[Word],
        redirects: list[Redirect],
        spans: list[tuple[int, int]],
        texts: list[str],
    ) -> None:
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
                    texts.append(text_of(child))
                    if child.named_children:
                        self._here_document(child)
                    if not is_quoted:
                        self._backticks(child)
                case _ if child.type in _WORDS and target is None and operator[:2] != "<<":
                    target = self._word(child) or Word(text_of(child), (UNKNOWN,), splits=True)
                    spans.append(span(child))
                case _ if child.type in _WORDS and operator == "<<<" and target is None:
                    target = self._word(child) or Word(text_of(child), (UNKNOWN,), splits=True)
                    texts += target.options
                    if target.is_known:
                        spans.append(span(child))
                    else:
                        self._odd(child, "feeds a command what only a run can tell", hard=True)
                case _ if child.type in _WORDS:  # words behind a redirect belong to the command
                    self._argument(child, words, spans)
                case _:  # what stands behind the first line of a here-document
                    self._read(child)
        redirects.append(Redirect(operator, target, node.start_byte, node.end_byte))

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


def _stands_alone(redirect: Node) -> bool:
    """Is a redirect that of no command, group or loop?"""
    parent = redirect.parent
    return parent is None or (
        parent.type != "heredoc_redirect" and parent.child_by_field_name("body") is None
    )
