"""Commands that are long only for the texts that they write: here-documents, left out to be judged.

Whatever is not surely such a text stays where it is, so that the command counts as too long.
"""

from __future__ import annotations

import re

from indwell.policy.commands.parsing import bash_parser

LIMIT = 8_000  # characters of a command, less its texts, that a person can be expected to look at
MOST = 100_000  # characters in all

_START = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n$`\\]+)\"|([A-Za-z_]\w*))")
_FILLED_IN = re.compile(r"[$`\\]")
_RUNS_TEXTS = re.compile(
    r"(?<![\w-])(?:\w*sh|eval|source|xargs|parallel|env|sudo|doas|su|busybox|exec|nohup|time|nice"
    r"|timeout|command|builtin|setsid|trap|tclsh|expect|at|batch|crontab)(?![\w-])|(?:^|[;&|({\s])\.\s",
    re.MULTILINE,
)
"""What may run a text as commands, by whatever name: then it has to be judged, and is too long."""


def judged_text(command: str) -> str:
    """What is judged of a command: all, or all but its long texts; empty if it is too long."""
    if len(command) <= LIMIT:
        return command
    if len(command) > MOST:
        return ""
    short, n_texts = _without_texts(command)
    if not n_texts or len(short) > LIMIT or _RUNS_TEXTS.search(short):
        return ""
    return short if _n_here_documents(short) == n_texts else ""


def _without_texts(command: str) -> tuple[str, int]:
    """The command with the text of each here-document left out, and how many these are."""
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
    """How many a real parser sees; none if it does not understand all of the command."""
    root = bash_parser().parse(command.encode()).root_node
    if root.has_error:
        return 0
    waiting, n_found = [root], 0
    while waiting:
        node = waiting.pop()
        n_found += node.type == "heredoc_redirect"
        waiting += node.children
    return n_found
