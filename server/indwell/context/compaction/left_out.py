"""What went without a trace of its own: one marker names it, and the files that have it (H21)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from indwell.context.compaction.cuts import called, spill_name, spill_path
from indwell.context.compaction.step import Spill
from indwell.context.injections import inject
from indwell.messages import Block, Message, Text, ToolResult, ToolUse

_LISTED = 6  # calls that a marker names; the file has them all
_WORDS = "Earlier calls and their results, and parts of earlier replies, were left out here"
_PATH = re.compile(r"\S*left-out-[0-9a-f]{8,}\.txt")


def is_marker(block: Block) -> bool:
    """Did an earlier digest put it there?"""
    return isinstance(block, Text) and block.meta.source == "reminder" and _WORDS in block.text


def left_out(
    folder: str, dropped: Sequence[Block], before: Sequence[Message]
) -> tuple[Text, Spill]:
    """The marker, and the file that has what was dropped.

    Args:
        folder: Of spills, as the model can name it.
        dropped: Calls, results and replies as they were at first; not empty.
        before: The live messages until now: the files that their markers name stay named.
    """
    text = "\n\n".join(_parts(dropped))
    spill = Spill(spill_name("left-out", text), text)
    markers = [one for part in before for one in part.blocks if is_marker(one)]
    older = (path for one in markers if isinstance(one, Text) for path in _PATH.findall(one.text))
    paths = dict.fromkeys((*older, spill_path(folder, spill.name)))
    uses = [one for one in dropped if isinstance(one, ToolUse)]
    listed = "; ".join(dict.fromkeys(called(use) for use in uses[-_LISTED:]))
    newest = f" (the newest: {listed})" if listed else ""
    words = f"{_WORDS}{newest}. All of it, oldest first: {', '.join(paths)}"
    return inject("reminder", words, turn=before[-1].turn), spill


def _parts(blocks: Sequence[Block]) -> Iterator[str]:
    """Calls, results and replies, as text to read again."""
    for block in blocks:
        match block:
            case ToolUse():
                yield f"## {block.name} {block.arguments}"
            case ToolResult() | Text():
                yield block.text
            case _:
                pass
