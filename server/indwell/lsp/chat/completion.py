"""What completes in a chat: files, lines of them, commands. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from indwell.lsp.mentions import quoted_path

MOST_SHOWN = 50
_LOOKED_AT = 50_000  # names; takes 10 ms

COMMANDS: tuple[tuple[str, str], ...] = (
    ("/new", "begin a new chat"),
    ("/compact", "shorten the conversation"),
    ("/mode ask", "ask before each edit"),
    ("/mode review", "apply edits, to be accepted later"),
    ("/mode auto", "apply edits, accepted at once"),
    ("/mode plan", "read only"),
    ("/stop", "stop the running turn"),
)
"""All that there are."""

_COMMAND = re.compile(r"^/[a-z ]{0,20}$")
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
    names: Callable[[], Sequence[str]],
    lines_of: Callable[[str], Sequence[Lines]],
) -> tuple[Item, ...]:
    """What fits behind a line's beginning.

    Args:
        line: Of the document, up to the cursor.
        is_draft_start: Nothing else stands in the draft before it.
        names: The workspace's files.
        lines_of: Named lines of one.
    """
    if is_draft_start and _COMMAND.match(line):
        fits = (one for one in COMMANDS if one[0].startswith(line.rstrip() or "/"))
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
        chosen = matching(begun.strip('"'), names())
        return tuple(
            Item(f"@{name}", "", f"@{quoted_path(name)}", len(begun) + 1, _FILE_KIND)
            for name in chosen
        )
    return ()


def matching(begun: str, names: Sequence[str]) -> list[str]:
    """The best names for what was typed: those whose last part begins with it come first."""
    wanted = begun.lower()
    ranked: list[tuple[int, int, str]] = []
    for name in names[:_LOOKED_AT]:
        lower = name.lower()
        at = lower.find(wanted)
        if at < 0:
            continue
        base = lower.rfind("/") + 1
        rank = 0 if lower.startswith(wanted, base) else 1 if at == 0 else 2 if at >= base else 3
        ranked.append((rank, len(name), name))
    ranked.sort()
    return [name for _, _, name in ranked[:MOST_SHOWN]]


def named_lines(text: str) -> tuple[Lines, ...]:
    """Definitions in a source text, by what their lines look like."""
    found: list[tuple[str, int, int]] = []
    lines = text.split("\n")[:20_000]
    for number, line in enumerate(lines, start=1):
        match = _SYMBOL.match(line[:200])
        if match is not None:
            found.append((match["name"], number, len(match["indent"].expandtabs(4))))
    result = []
    for place, (name, first, indent) in enumerate(found):
        later = (at for _, at, other in found[place + 1 :] if other <= indent)
        last = next(later, len(lines) + 1) - 1
        while last > first and not lines[last - 1].strip():
            last -= 1
        result.append(Lines(name, first, last))
    return tuple(result)
