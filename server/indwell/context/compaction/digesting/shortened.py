"""Results and calls in their short form: chosen lines, and a marker of where all of it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from indwell.context.calls import call_of
from indwell.context.identifiers import is_numbered
from indwell.context.tokens import estimate_tokens
from indwell.messages import Text, ToolResult, ToolUse

_GAP = "…"


def short_result(
    result: ToolResult, lines: Sequence[str], kept: Collection[int], path: str
) -> ToolResult:
    """A result with the lines whose numbers, 0-based, are in ``kept``."""
    text = "\n".join((_marker(lines, kept, path), *_with_gaps(lines, kept)))
    meta = msgspec.structs.replace(result.meta, tokens=estimate_tokens(text))
    return msgspec.structs.replace(result, text=text, meta=meta)


def short_use(use: ToolUse, lines: Sequence[str], kept: Collection[int], path: str) -> ToolUse:
    """A call with chosen lines of its arguments, in a form that no tool takes."""
    call = call_of(use)
    shown: dict[str, object] = {"path": call.path} if call.path else {"about": call.main}
    shown["shortened"] = f"{len(use.arguments):,} characters; all: {path}"
    if kept:
        shown["lines"] = "\n".join(_with_gaps(lines, kept))
    arguments = msgspec.json.encode(shown).decode()
    tokens = estimate_tokens(use.name + arguments)
    meta = msgspec.structs.replace(use.meta, tokens=tokens)
    return msgspec.structs.replace(use, arguments=arguments, meta=meta)


def short_injection(text: Text, lines: Sequence[str], kept: Collection[int], path: str) -> Text:
    """An injected text with chosen lines; its tag's two lines are among them."""
    first, *rest = _with_gaps(lines, kept)
    return _with_text(text, "\n".join((first, _marker(lines, kept, path), *rest)))


def short_reply(text: Text, lines: Sequence[str], kept: Collection[int]) -> Text:
    """The agent's own words with chosen lines; no marker, for it would learn to write them."""
    end = [] if len(lines) - 1 in kept else [_GAP]
    return _with_text(text, "\n".join((*_with_gaps(lines, kept), *end)))


def _with_text(block: Text, text: str) -> Text:
    meta = msgspec.structs.replace(block.meta, tokens=estimate_tokens(text))
    return msgspec.structs.replace(block, text=text, meta=meta)


def _marker(lines: Sequence[str], kept: Collection[int], path: str) -> str:
    n_left_out = len(lines) - len(kept)
    return f"[{n_left_out:,} of {len(lines):,} lines left out; all: {path}]"


def _with_gaps(lines: Sequence[str], kept: Collection[int]) -> list[str]:
    shown: list[str] = []
    before = -1
    for number in sorted(kept):
        if number != before + 1 and not is_numbered(lines[number]):
            shown.append(_GAP)
        shown.append(lines[number])
        before = number
    return shown
