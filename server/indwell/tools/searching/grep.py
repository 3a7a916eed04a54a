"""``grep``: lines that match a regular expression, on disk and in unsaved buffers (H51)."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec

from indwell.errors import ToolError
from indwell.tools.arguments import Given, of_struct, renamed
from indwell.tools.base import Outcome, Tool, ToolContext, ToolFacts
from indwell.tools.searching.grep_query import GrepQuery
from indwell.tools.searching.grep_report import report
from indwell.tools.searching.grep_search import search
from indwell.tools.searching.ripgrep import together
from indwell.tools.searching.ripgrep_output import Mode
from indwell.tools.searching.search_place import search_places


class Grep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of ``grep``."""

    pattern: Annotated[str, msgspec.Meta(description="regular expression (Rust), by line")]
    path: Annotated[str, msgspec.Meta(description="file or folder")] = "."
    glob: Annotated[str, msgspec.Meta(description="only these files, such as *.py")] = ""
    ignore_case: bool = False
    mode: Mode = "lines"
    context: Annotated[int, msgspec.Meta(ge=0, le=5, description="lines around each match")] = 0


_NAMES = {
    "-i": "ignore_case",
    "ignoreCase": "ignore_case",
    "output_mode": "mode",
    "include": "glob",
}
_MODES = {"content": "lines", "files_with_matches": "files"}
_AROUND = ("-A", "-B", "-C")
_DONE_ANYHOW = ("-n", "head_limit")  # lines are numbered, and the result is bounded


def _understood(given: Given) -> Given:
    """Other agents pass grep's own options; lines before and after a match are one number here."""
    ours = renamed({one: given[one] for one in given if one not in _DONE_ANYHOW}, _NAMES)
    around = [ours.pop(one) for one in _AROUND if one in ours]
    if around and "context" not in ours:
        ours["context"] = max(around) if all(isinstance(one, int) for one in around) else around[0]
    if isinstance(mode := ours.get("mode"), str):
        ours["mode"] = _MODES.get(mode, mode)
    return ours


def make_grep() -> Tool[Grep]:
    """The tool."""
    return Tool(
        name="grep",
        description="Search file contents. Ignored files and dependency folders are left out.",
        arguments=of_struct(Grep, _understood),
        effect="read",
        facts=lambda arguments: ToolFacts(
            tool="grep", effect="read", paths=(arguments.path,), subject=arguments.pattern
        ),
        run=_run,
    )


async def _run(arguments: Grep, context: ToolContext) -> Outcome:
    if not arguments.pattern or "\0" in arguments.pattern:
        raise ToolError(f"{arguments.pattern!r} is no pattern to search for")
    query = GrepQuery(
        pattern=arguments.pattern,
        glob=arguments.glob.removeprefix("./"),
        mode=arguments.mode,
        beside=arguments.context if arguments.mode == "lines" else 0,
        ignore_case=arguments.ignore_case,
    )
    places = await search_places(context, arguments.path)
    found = await together(*(search(query, place, context) for place in places))
    complaint = next((one.complaint for one in found if one.complaint), "")
    if complaint:  # often it was meant as it stands, such as a call with its bracket
        query = msgspec.structs.replace(query, is_plain=True)
        found = await together(*(search(query, place, context) for place in places))
        if not any(one.hits.counts for one in found):
            raise ToolError(
                f"{query.pattern[:200]!r} is no regular expression that ripgrep takes; escape "
                f"special characters with a backslash; {complaint[:500]}"
            )
    return await asyncio.to_thread(report, query, found, context, complaint)
