"""Results and calls in their short form: chosen lines, and a marker of where all of it is."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from indwell.context.calls import call_of
from indwell.context.compaction.worth import Line
from indwell.context.tokens import estimate_tokens
from indwell.messages import ToolResult, ToolUse

_GAP = "…"


def short_result(
    result: ToolResult, lines: tuple[Line, ...], kept: Collection[int], path: str
) -> ToolResult:
    """A result with the lines whose numbers, 0-based, are in ``kept``."""
    n_left_out = len(lines) - len(kept)
    marker = f"[shortened: {n_left_out:,} of {len(lines):,} lines left out; all of it: {path}]"
    text = "\n".join((marker, *_with_gaps(lines, kept)))
    meta = msgspec.structs.replace(result.meta, tokens=estimate_tokens(text))
    return msgspec.structs.replace(result, text=text, meta=meta)


def short_use(use: ToolUse, lines: tuple[Line, ...], kept: Collection[int], path: str) -> ToolUse:
    """A call with chosen lines of its arguments, in a form that no tool takes."""
    call = call_of(use)
    shown: dict[str, object] = {"path": call.path} if call.path else {"about": call.main}
    shown["shortened"] = f"{len(use.arguments):,} characters; all of it: {path}"
    if kept:
        shown["lines"] = "\n".join(_with_gaps(lines, kept))
    arguments = msgspec.json.encode(shown).decode()
    tokens = estimate_tokens(use.name + arguments)
    meta = msgspec.structs.replace(use.meta, tokens=tokens)
    return msgspec.structs.replace(use, arguments=arguments, meta=meta)


def _with_gaps(lines: tuple[Line, ...], kept: Collection[int]) -> list[str]:
    shown: list[str] = []
    before = -1
    for number in sorted(kept):
        if number != before + 1:
            shown.append(_GAP)
        shown.append(lines[number].text)
        before = number
    if kept and before != len(lines) - 1:
        shown.append(_GAP)
    return shown
