"""Finds outlines, definitions and references in syntax trees; compares symbols by name.

Each grammar is a separate package, because ``tree-sitter-language-pack`` downloads grammars at run
time. A grammar is imported when a file of its language is first parsed.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from indwell.context.attachments import Problem
from indwell.lazy_pattern import lazy_pattern
from indwell.navigation.navigator import CodeAnswer, CodePlace, CodeQuestion, SourceFailed, Texts

if TYPE_CHECKING:
    from tree_sitter import Language, Node

NAME = "syntax trees (matches by name)"
# The limit of characters for a file that is parsed; longer files are mostly generated.
MOST_CHARACTERS = 1_000_000
MOST_PLACES = 1_000  # the limit of places in one answer
MOST_PROBLEMS = 20  # the limit of syntax errors that are reported for one file
MOST_OUTLINES = 128  # the number of files whose outlines are cached
# The parser reads 16 KB in one step; other threads can run between two steps.
_PIECE_B = 1 << 14
_WORD = lazy_pattern(r"\w")
# A leaf of the tree is not a name if its type contains one of these words.
_NO_NAME = ("comment", "string", "content", "text", "template")


class Grammar(NamedTuple):
    """A grammar: its package, the function that returns it, and its kinds of definitions."""

    package: str
    function: str
    kinds: Mapping[str, str]


_C = {
    "function_definition": "function",
    "struct_specifier": "struct",
    "union_specifier": "union",
    "enum_specifier": "enum",
    "enumerator": "constant",
    "type_definition": "type",
    "preproc_def": "macro",
    "preproc_function_def": "macro",
}
_CPP = {
    **_C,
    "class_specifier": "class",
    "namespace_definition": "namespace",
    "alias_declaration": "type",
    "concept_definition": "concept",
}
_JAVASCRIPT = {
    "function_declaration": "function",
    "generator_function_declaration": "function",
    "class_declaration": "class",
    "method_definition": "method",
    "field_definition": "field",
    "variable_declarator": "variable",
}
_TYPESCRIPT = {
    **_JAVASCRIPT,
    "function_signature": "function",
    "abstract_class_declaration": "class",
    "method_signature": "method",
    "abstract_method_signature": "method",
    "public_field_definition": "field",
    "property_signature": "field",
    "interface_declaration": "interface",
    "type_alias_declaration": "type",
    "enum_declaration": "enum",
    "internal_module": "namespace",
    "module": "namespace",
}
_GRAMMARS: Mapping[str, Grammar] = {
    "python": Grammar(
        "tree_sitter_python",
        "language",
        {"function_definition": "function", "class_definition": "class", "assignment": "variable"},
    ),
    "javascript": Grammar("tree_sitter_javascript", "language", _JAVASCRIPT),
    "typescript": Grammar("tree_sitter_typescript", "language_typescript", _TYPESCRIPT),
    "tsx": Grammar("tree_sitter_typescript", "language_tsx", _TYPESCRIPT),
    "go": Grammar(
        "tree_sitter_go",
        "language",
        {
            "function_declaration": "function",
            "method_declaration": "method",
            "method_elem": "method",
            "type_spec": "type",
            "type_alias": "type",
            "const_spec": "constant",
            "var_spec": "variable",
            "field_declaration": "field",
        },
    ),
    "rust": Grammar(
        "tree_sitter_rust",
        "language",
        {
            "function_item": "function",
            "function_signature_item": "function",
            "struct_item": "struct",
            "enum_item": "enum",
            "enum_variant": "constant",
            "union_item": "union",
            "trait_item": "trait",
            "impl_item": "implementation",
            "mod_item": "module",
            "type_item": "type",
            "const_item": "constant",
            "static_item": "variable",
            "field_declaration": "field",
            "macro_definition": "macro",
        },
    ),
    "java": Grammar(
        "tree_sitter_java",
        "language",
        {
            "class_declaration": "class",
            "interface_declaration": "interface",
            "enum_declaration": "enum",
            "enum_constant": "constant",
            "record_declaration": "record",
            "annotation_type_declaration": "annotation",
            "method_declaration": "method",
            "constructor_declaration": "constructor",
            "field_declaration": "field",
        },
    ),
    "c": Grammar("tree_sitter_c", "language", _C),
    "cpp": Grammar("tree_sitter_cpp", "language", _CPP),
    "csharp": Grammar(
        "tree_sitter_c_sharp",
        "language",
        {
            "class_declaration": "class",
            "struct_declaration": "struct",
            "interface_declaration": "interface",
            "enum_declaration": "enum",
            "enum_member_declaration": "constant",
            "record_declaration": "record",
            "delegate_declaration": "delegate",
            "method_declaration": "method",
            "constructor_declaration": "constructor",
            "property_declaration": "property",
            "namespace_declaration": "namespace",
            "file_scoped_namespace_declaration": "namespace",
            "variable_declarator": "variable",
        },
    ),
    "ruby": Grammar(
        "tree_sitter_ruby",
        "language",
        {
            "class": "class",
            "module": "module",
            "method": "method",
            "singleton_method": "method",
            "assignment": "variable",
        },
    ),
    "php": Grammar(
        "tree_sitter_php",
        "language_php",
        {
            "function_definition": "function",
            "class_declaration": "class",
            "interface_declaration": "interface",
            "trait_declaration": "trait",
            "enum_declaration": "enum",
            "enum_case": "constant",
            "method_declaration": "method",
            "property_element": "field",
            "const_element": "constant",
            "namespace_definition": "namespace",
        },
    ),
}
_SUFFIXES: Mapping[str, str] = {
    suffix: language
    for language, suffixes in {
        "python": ".py .pyi",
        "javascript": ".js .jsx .mjs .cjs",
        "typescript": ".ts .mts .cts",
        "tsx": ".tsx",
        "go": ".go",
        "rust": ".rs",
        "java": ".java",
        "c": ".c .h",
        "cpp": ".cc .cpp .cxx .hh .hpp .hxx",
        "csharp": ".cs",
        "ruby": ".rb",
        "php": ".php",
    }.items()
    for suffix in suffixes.split()
}
_VARIABLES = frozenset({"variable"})
_FUNCTIONS = frozenset({"function", "method", "constructor"})
_WITH_METHODS = frozenset({"class", "interface", "struct", "trait", "implementation"})


def language_of(path: Path) -> str | None:
    """Return the grammar of a file by its suffix, or None if there is no grammar."""
    return _SUFFIXES.get(path.suffix.lower())


class SyntaxTrees:
    """Answers questions by comparing names in syntax trees; implements ``CodeSource``."""

    async def ask(self, question: CodeQuestion) -> CodeAnswer | None:
        """Answer a question; refuse a rename, because equal names may be different symbols."""
        if question.action == "rename":
            return None
        if question.path is not None and question.action in {"symbols", "problems"}:
            if language_of(question.path) is None or len(question.text) > MOST_CHARACTERS:
                return None
            if question.action == "problems":
                found = await asyncio.to_thread(syntax_errors, question.path, question.text)
                return CodeAnswer("the syntax tree", problems=found)
            places = await asyncio.to_thread(outline, question.path, question.text)
            return CodeAnswer("the syntax tree", places)
        return CodeAnswer(NAME, await _by_name(question), is_by_name=True)


async def _by_name(question: CodeQuestion) -> tuple[CodePlace, ...]:
    """Find symbols of a name in all files that contain the name; the question's file is first."""
    files = [path for path in await question.texts.containing(question.symbol) if language_of(path)]
    if question.path is not None and language_of(question.path):
        files = [question.path, *(path for path in files if path != question.path)]
    found: list[CodePlace] = []
    for path in files:
        text = await _text(question, path, question.texts)
        if text is None or len(text) > MOST_CHARACTERS:
            continue
        if question.action == "references":
            found += await asyncio.to_thread(occurrences, path, text, question.symbol)
        else:
            places = await asyncio.to_thread(outline, path, text)
            found += (one for one in places if _is_wanted(one, question))
        if len(found) >= MOST_PLACES:
            break
    if not found and question.path is not None and language_of(question.path):
        found += await asyncio.to_thread(_local_place, question)
    if question.action == "symbols":  # Symbols whose name is equal come first.
        found.sort(key=lambda one: one.name != question.symbol)
    return tuple(found[:MOST_PLACES])


def _local_place(question: CodeQuestion) -> tuple[CodePlace, ...]:
    """Return where a name is first used in the innermost function around the question; blocks.

    In most cases, the first use defines the parameter or local variable.
    """
    path, text, line = question.path, question.text, question.line + 1
    assert path is not None
    if question.action == "references" or len(text) > MOST_CHARACTERS:
        return ()
    around = [one for one in outline(path, text) if one.line <= line <= one.end_line]
    first = max((one.line for one in around), default=1)
    uses = (one for one in occurrences(path, text, question.symbol) if one.line >= first)
    return tuple(islice(uses, 1))


async def _text(question: CodeQuestion, path: Path, texts: Texts) -> str | None:
    return question.text if path == question.path else await texts.read(path)


def _is_wanted(place: CodePlace, question: CodeQuestion) -> bool:
    if question.action == "symbols":
        return question.symbol.casefold() in place.name.casefold()
    return place.name == question.symbol


@lru_cache(maxsize=MOST_OUTLINES)
def outline(path: Path, text: str) -> tuple[CodePlace, ...]:
    """Return the definitions in a text, in order; blocks.

    Raises:
        SourceFailed: The grammar is not installed.
    """
    grammar = _GRAMMARS[_SUFFIXES[path.suffix.lower()]]
    root = _tree(path, text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace"))
    return tuple(islice(_definitions(root, path, grammar.kinds), MOST_PLACES))


def occurrences(path: Path, text: str, name: str) -> tuple[CodePlace, ...]:
    """Return the places where a name is used or defined, without strings and comments; blocks.

    Raises:
        SourceFailed: The grammar is not installed.
    """
    data = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace")
    wanted = name.encode("utf-8", "replace")
    if not wanted or wanted not in data:
        return ()
    root = _tree(path, data)
    defined = {place.line for place in outline(path, text) if place.name == name}
    lines = {
        node.start_point[0] + 1
        for node in _leaves(root, data, wanted)
        if not any(part in node.type for part in _NO_NAME)
    }
    return tuple(
        CodePlace(path, line, line, name, is_definition=line in defined) for line in sorted(lines)
    )


def syntax_errors(path: Path, text: str) -> tuple[Problem, ...]:
    """Return the syntax errors of a text; blocks.

    Raises:
        SourceFailed: The grammar is not installed.
    """
    data = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace")
    return tuple(islice(_errors(_tree(path, data)), MOST_PROBLEMS))


def _tree(path: Path, data: bytes) -> Node:
    import tree_sitter  # noqa: PLC0415 - 20 ms, which no start is to wait for

    parser = tree_sitter.Parser(_language(_SUFFIXES[path.suffix.lower()]))
    tree = parser.parse(lambda offset, _point: data[offset : offset + _PIECE_B])
    return tree.root_node


@lru_cache(maxsize=len(_GRAMMARS))
def _language(name: str) -> Language:
    import tree_sitter  # noqa: PLC0415 - as above

    grammar = _GRAMMARS[name]
    try:
        package = importlib.import_module(grammar.package)
    except ImportError as error:
        raise SourceFailed(
            f"the grammar {grammar.package.replace('_', '-')} is not installed; install Indwell "
            "again with all its dependencies"
        ) from error
    return tree_sitter.Language(getattr(package, grammar.function)())


def _definitions(root: Node, path: Path, kinds: Mapping[str, str]) -> Iterator[CodePlace]:
    """Yield the definitions of the tree in order, without variables inside functions."""
    waiting: list[tuple[Node, str, str]] = [(root, "", "")]
    while waiting:
        node, inside, around = waiting.pop()
        kind = kinds.get(node.type, "")
        is_local = around in _FUNCTIONS
        name = _name(node) if kind and not (is_local and kind in _VARIABLES) else None
        if name is not None:
            kind = "method" if kind == "function" and around in _WITH_METHODS else kind
            line, (end, end_column) = name.start_point[0] + 1, node.end_point
            text = (name.text or b"").decode("utf-8", "replace")
            last = max(line, end + bool(end_column))
            yield CodePlace(path, line, last, text, kind, inside, is_definition=True)
            if kind not in _VARIABLES:
                inside, around = text, around if is_local else kind
        waiting.extend((child, inside, around) for child in reversed(node.named_children))


def _name(node: Node) -> Node | None:
    """Return the node that contains a definition's name, or None if there is no name."""
    if node.type in {"struct_specifier", "union_specifier", "enum_specifier", "class_specifier"}:
        # The node uses the type and does not define it.
        if node.child_by_field_name("body") is None:
            return None
    elif node.type == "assignment":
        name = node.child_by_field_name("left")
        return name if name is not None and name.type in {"identifier", "constant"} else None
    elif node.type == "impl_item":
        return node.child_by_field_name("type")
    name = node.child_by_field_name("name") or _declared(node)
    # The definition destructures a value into several names.
    if name is None or name.type.endswith("pattern"):
        return None
    return name


def _declared(node: Node) -> Node | None:
    """Return the name inside the declarators of C and similar languages."""
    inner = node.child_by_field_name("declarator")
    while inner is not None:
        further = inner.child_by_field_name("declarator") or inner.child_by_field_name("name")
        if further is None:
            is_name = not inner.named_children or inner.type == "qualified_identifier"
            return inner if is_name else next(_identifiers(inner.named_children), None)
        inner = further
    return next(
        (one for one in node.named_children if one.type in {"property_identifier", "name"}), None
    )


def _identifiers(nodes: Sequence[Node]) -> Iterator[Node]:
    return (one for one in nodes if one.type.endswith("identifier"))


def _leaves(root: Node, data: bytes, word: bytes) -> Iterator[Node]:
    """Yield the leaves that consist of the word."""
    at = data.find(word)
    while at >= 0:
        stop = at + len(word)
        leaf = root.descendant_for_byte_range(at, stop)
        if (
            leaf is not None
            and not leaf.child_count
            and (leaf.start_byte, leaf.end_byte) == (at, stop)
        ):
            yield leaf
        at = data.find(word, stop)


def _errors(root: Node) -> Iterator[Problem]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if not node.has_error:
            continue
        line = node.start_point[0] + 1
        if node.is_missing:
            yield Problem(line, "error", f"{node.type!r} is missing", "syntax tree")
        elif node.is_error:
            yield Problem(line, "error", "the syntax is not valid here", "syntax tree")
        else:
            waiting.extend(reversed(tuple(_faulty(node.children))))


def _faulty(nodes: Iterable[Node]) -> Iterator[Node]:
    return (one for one in nodes if one.has_error)
