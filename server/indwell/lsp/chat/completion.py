"""What completes in a chat: files, lines of them, commands. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from indwell.lsp.chat.name_index import NameIndex
from indwell.service.mentions.mentions import quoted_path

MOST_SHOWN = 50  # ranges
_LINES_LOOKED_AT = 20_000

COMMANDS: tuple[tuple[str, str], ...] = (
    ("/new", "begin a new chat"),
    ("/compact", "shorten the conversation"),
    ("/continue", "continue a turn that was interrupted"),
    ("/mode ask", "ask before each edit"),
    ("/mode review", "apply edits, to be accepted later"),
    ("/mode auto", "apply edits, accepted at once"),
    ("/mode plan", "read only"),
    ("/stop", "stop the running turn"),
)
"""All that there are."""

_COMMAND = re.compile(r"^/[a-z0-9._ -]{0,64}$")
_FILE = re.compile(r"(?:^|[\s(])@(?P<begun>\"[^\"\n]{0,200}|[^\s@\"#]{0,200})$")
_RANGE = re.compile(r"(?:^|[\s(])@(?:\"(?P<q>[^\"\n]+)\"|(?P<p>[^\s@\"#]+))#L?(?P<begun>[\d-]*)$")
_SYMBOL = re.compile(
    r"^(?P<indent>[ \t]*)(?:export |pub |public |private |static |async |default )*"
    r"(?:def|class|function|func|fn|struct|impl|trait|interface|enum|module|type)\s+(?P<name>[\w.]+)"
)


class Item(NamedTuple):
    """One thing to choose: ``n_before`` characters before the cursor are replaced by ``text``."""

    label: str
    detail: str
    text: str
    n_before: int
    kind: int


class Lines(NamedTuple):
    """Lines of a file that have a name: 1-based, inclusive."""

    name: str
    first: int
    last: int


_FILE_KIND, _KEYWORD_KIND, _REFERENCE_KIND = 17, 14, 18  # CompletionItemKind


def completed(
    line: str,
    *,
    is_draft_start: bool,
    names: Callable[[], NameIndex],
    lines_of: Callable[[str], Sequence[Lines]],
    skills: Sequence[tuple[str, str]] = (),
) -> tuple[Item, ...]:
    """What fits behind a line's beginning.

    Args:
        line: Of the document, up to the cursor.
        is_draft_start: Nothing else stands in the draft before it.
        names: The workspace's files.
        lines_of: Named lines of one.
        skills: What the user can call beside the commands, as these are.
    """
    if is_draft_start and _COMMAND.match(line):
        fits = (one for one in (*COMMANDS, *skills) if one[0].startswith(line.rstrip() or "/"))
        return tuple(Item(name, said, name, len(line), _KEYWORD_KIND) for name, said in fits)
    if (found := _RANGE.search(line)) is not None:
        path = found["q"] or found["p"]
        n_before = len(line) - line.rindex("#")
        return tuple(
            Item(f"#L{first}-{last}", name, f"#L{first}-{last}", n_before, _REFERENCE_KIND)
            for name, first, last in lines_of(path)[:MOST_SHOWN]
        )
    if (found := _FILE.search(line)) is not None:
        begun = found["begun"]
        chosen = names().matching(begun.strip('"'))
        return tuple(
            Item(f"@{name}", "", f"@{quoted_path(name)}", len(begun) + 1, _FILE_KIND)
            for name in chosen
        )
    return ()


def ranged_path(line: str) -> str:
    """The file of which lines are asked for behind a line's beginning; empty if none are."""
    found = _RANGE.search(line)
    return (found["q"] or found["p"]) if found is not None else ""


def named_lines(text: str) -> tuple[Lines, ...]:
    """Definitions in a source text, by what their lines look like; in a thread if it is long."""
    lines = text.split("\n")[:_LINES_LOOKED_AT]
    filled = list(accumulate((n if one.strip() else 0 for n, one in enumerate(lines, 1)), max))
    found: list[Lines] = []
    open_: list[tuple[int, int]] = []  # places in ``found`` that go on, with their indents
    for number, line in enumerate(lines, start=1):
        match = _SYMBOL.match(line[:200])
        if match is None:
            continue
        indent = len(match["indent"].expandtabs(4))
        _end(found, open_, indent, number - 1, filled)
        open_.append((len(found), indent))
        found.append(Lines(match["name"], number, number))
    _end(found, open_, 0, len(lines), filled)
    return tuple(found)


def _end(
    found: list[Lines],
    open_: list[tuple[int, int]],
    indent: int,
    last: int,
    filled: Sequence[int],
) -> None:
    """Those that stand as far to the right end here, at the last line with words."""
    while open_ and open_[-1][1] >= indent:
        place, _ = open_.pop()
        one = found[place]
        found[place] = one._replace(last=max(one.first, filled[last - 1]))
