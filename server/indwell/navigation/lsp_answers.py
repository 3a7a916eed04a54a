"""Converts questions to requests of the language server protocol, and replies to answers. Pure.

Replies come from an editor or a language server, so invalid parts are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from indwell.context.attachments import MESSAGE_LIMIT, Problem
from indwell.errors import ToolError
from indwell.navigation.navigator import Action, CodeAnswer, CodePlace, CodeQuestion, ServerEdit
from indwell.workspace.paths import parse
from indwell.workspace.text import document_lines, index_in_line, units_in_line

Method: TypeAlias = Literal[
    "textDocument/definition",
    "textDocument/references",
    "textDocument/hover",
    "textDocument/documentSymbol",
    "textDocument/rename",
    "workspace/symbol",
]
_METHODS: Mapping[Action, Method] = {
    "definition": "textDocument/definition",
    "references": "textDocument/references",
    "hover": "textDocument/hover",
    "symbols": "textDocument/documentSymbol",
    "rename": "textDocument/rename",
}
MOST_PLACES = 5_000  # the limit of places that are read from one reply
_KINDS = (
    *("file", "module", "namespace", "package", "class", "method", "property", "field"),
    *("constructor", "enum", "interface", "function", "variable", "constant", "string", "number"),
    *("boolean", "array", "object", "key", "null", "constant", "struct", "event", "operator"),
    "type",
)
"""The protocol's kinds of symbols, from 1."""
_LOCAL = frozenset({"variable", "constant"})
_FUNCTIONS = frozenset({"function", "method", "constructor"})
_SEVERITIES = ("error", "warning", "information", "hint")


class CodeReply(NamedTuple):
    """The reply of one language server.

    Attributes:
        result: The result as JSON.
        encoding: The encoding in whose units the result counts columns.
    """

    result: Any
    encoding: str = "utf-16"


def method_of(question: CodeQuestion) -> Method | None:
    """Return the request for a question, or None for problems, which need no request."""
    if question.action == "symbols" and question.path is None:
        return "workspace/symbol"
    return _METHODS.get(question.action)


def params_of(question: CodeQuestion, encoding: str) -> dict[str, Any]:
    """Return the parameters of the request, with columns in units of ``encoding``."""
    if question.path is None:
        return {"query": question.symbol}
    params: dict[str, Any] = {"textDocument": {"uri": question.path.as_uri()}}
    if question.action == "symbols":
        return params
    character = column_of(question, encoding)
    params["position"] = {"line": question.line, "character": character}
    if question.action == "references":
        params["context"] = {"includeDeclaration": True}
    if question.action == "rename":
        params["newName"] = question.new_name
    return params


def column_of(question: CodeQuestion, encoding: str) -> int:
    """Return the column of the symbol in units of ``encoding``."""
    lines = document_lines(question.text)
    line = lines[question.line] if question.line < len(lines) else ""
    return units_in_line(line, question.column, encoding)


def answer_of(question: CodeQuestion, replies: Sequence[CodeReply], source: str) -> CodeAnswer:
    """Combine the replies of one or more language servers into one answer."""
    match question.action:
        case "hover":
            words = dict.fromkeys(_hover_words(one.result) for one in replies)
            return CodeAnswer(source, words="\n".join(filter(None, words)))
        case "rename":
            return _rename_answer(replies, source)
        case "symbols":
            found = (place for one in replies for place in _symbols(one.result, question.path))
            return CodeAnswer(source, tuple(dict.fromkeys(found))[:MOST_PLACES])
        case "references":
            # Servers list references in the order in which they read the files, which may differ.
            places = {place for one in replies for place in _locations(one.result)}
            return CodeAnswer(source, tuple(sorted(places))[:MOST_PLACES])
        case _:
            found = (place for one in replies for place in _locations(one.result))
            return CodeAnswer(source, tuple(dict.fromkeys(found))[:MOST_PLACES])


def problems_of(diagnostics: Any) -> tuple[Problem, ...]:  # noqa: ANN401 - JSON of others
    """Convert a list of the protocol's diagnostics to problems."""
    return tuple(
        Problem(
            line=_number(_start(one.get("range")), "line") + 1,
            severity=_SEVERITIES[min(max(_number(one, "severity") or 1, 1), 4) - 1],
            message=str(one.get("message", ""))[: 4 * MESSAGE_LIMIT],
            source=str(one.get("source") or ""),
            code=str(one.get("code") or ""),
        )
        for one in _tables(diagnostics)
    )


class ChangedText(NamedTuple):
    """A changed text, and the parts of the old text that were replaced."""

    text: str
    replaced: tuple[str, ...]


def changed_text(text: str, changes: Sequence[ServerEdit], encoding: str) -> ChangedText | None:
    """Apply changes to a text; return None if the changes do not fit the text, or overlap."""
    lines = document_lines(text)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    pieces, replaced, at = [], [], 0
    for change in sorted(changes, key=lambda one: (one.line, one.column)):
        start = _offset(lines, starts, change.line, change.column, encoding)
        stop = _offset(lines, starts, change.end_line, change.end_column, encoding)
        if start is None or stop is None or not at <= start <= stop:
            return None
        pieces += [text[at:start], change.text]
        replaced.append(text[start:stop])
        at = stop
    return ChangedText("".join([*pieces, text[at:]]), tuple(replaced))


def _offset(
    lines: Sequence[str], starts: Sequence[int], line: int, column: int, encoding: str
) -> int | None:
    if not 0 <= line < len(lines):
        return None
    index = index_in_line(lines[line], column, encoding)
    # The column is past the end of the line, or inside a character.
    if units_in_line(lines[line], index, encoding) != column:
        return None
    return starts[line] + index


def _rename_answer(replies: Iterable[CodeReply], source: str) -> CodeAnswer:
    for reply in replies:
        if not isinstance(reply.result, Mapping):
            continue
        changes: dict[Path, tuple[ServerEdit, ...]] = {}
        for entry in _tables(reply.result.get("documentChanges")):
            if "kind" in entry:
                refusal = "the rename would also create, move or delete files"
                return CodeAnswer(source, refusal=refusal)
            uri = _table(entry.get("textDocument")).get("uri")
            if not _take(changes, uri, entry.get("edits")):
                return CodeAnswer(source, refusal=f"the rename would change {uri!r}")
        if not changes:
            for uri, edits in _table(reply.result.get("changes")).items():
                if not _take(changes, uri, edits):
                    return CodeAnswer(source, refusal=f"the rename would change {uri!r}")
        if changes:
            return CodeAnswer(source, changes=changes, encoding=reply.encoding)
    return CodeAnswer(source)


def _take(changes: dict[Path, tuple[ServerEdit, ...]], uri: object, edits: object) -> bool:
    """Add the edits of one document; return False if the document is not a file."""
    path = _path(uri)
    if path is None:
        return False
    made = tuple(
        ServerEdit(
            line=_number(_start(one.get("range")), "line"),
            column=_number(_start(one.get("range")), "character"),
            end_line=_number(_end(one.get("range")), "line"),
            end_column=_number(_end(one.get("range")), "character"),
            text=str(one.get("newText", "")),
        )
        for one in _tables(edits)
    )
    if made:
        changes[path] = (*changes.get(path, ()), *made)
    return True


def _locations(result: object) -> Iterator[CodePlace]:
    """Yield the places in a ``Location``, or in a list of locations or links."""
    for one in _tables([result] if isinstance(result, Mapping) else result):
        path = _path(one.get("targetUri", one.get("uri")))
        if path is None:
            continue
        whole = one.get("targetRange", one.get("range"))
        name = one.get("targetSelectionRange", whole)
        line = _number(_start(name), "line") + 1
        yield CodePlace(path, line, max(line, _last_line(whole)))


def _symbols(result: object, path: Path | None) -> Iterator[CodePlace]:
    """Yield the symbols in ``DocumentSymbol``, ``SymbolInformation`` and ``WorkspaceSymbol``.

    Variables inside functions are left out, because outlines do not show such variables.
    """
    waiting = [(one, "", "") for one in reversed(tuple(_tables(result)))]
    while waiting:
        one, inside, around = waiting.pop()
        kind = _KINDS[_number(one, "kind") - 1] if 0 < _number(one, "kind") <= len(_KINDS) else ""
        name = str(one.get("name", ""))
        if around in _FUNCTIONS and kind in _LOCAL:
            continue
        location = _table(one.get("location"))
        at = _path(location.get("uri")) if location else path
        whole = location.get("range") if location else one.get("range")
        if at is not None and name:
            line = _number(_start(one.get("selectionRange", whole)), "line") + 1
            end = max(line, _last_line(whole))
            container = inside or str(one.get("containerName") or "")
            yield CodePlace(at, line, end, name, kind, container, is_definition=True)
        children = tuple(_tables(one.get("children")))
        waiting.extend((child, name, kind) for child in reversed(children))


def _hover_words(result: object) -> str:
    """Return the text of a hover, in any of the protocol's four forms."""
    contents = result.get("contents") if isinstance(result, Mapping) else None
    parts = contents if isinstance(contents, list) else [contents]
    words = (one if isinstance(one, str) else _table(one).get("value") for one in parts)
    return "\n".join(one.strip() for one in words if isinstance(one, str) and one.strip())


def _path(uri: object) -> Path | None:
    if not isinstance(uri, str) or not uri.startswith("file:"):
        return None
    try:
        return parse(uri, Path.home())
    except ToolError:
        return None


def _last_line(span: object) -> int:
    """Return a range's last line, from 1; a range that ends at a line's start excludes the line."""
    end = _end(span)
    return _number(end, "line") + (1 if _number(end, "character") else 0)


def _start(span: object) -> Mapping[str, Any]:
    return _table(_table(span).get("start"))


def _end(span: object) -> Mapping[str, Any]:
    return _table(_table(span).get("end"))


def _number(table: Mapping[str, Any], name: str) -> int:
    value = table.get(name)
    return value if isinstance(value, int) and 0 <= value < 1 << 31 else 0


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _tables(value: object) -> Iterator[Mapping[str, Any]]:
    items = value if isinstance(value, list | tuple) else ()
    return (one for one in items[:MOST_PLACES] if isinstance(one, Mapping))
