"""``@path`` and ``@path#L1-20`` among words: where they stand, and what they name. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

MOST = 20  # files that go with one prompt; the model can read more by itself
_MENTION = re.compile(
    r"(?<![\w@/.`])@(?:\"(?P<quoted>[^\"\n]{1,400})\"|(?P<bare>[^\s@\"'`<>()\[\]{},;#]{1,400}))"
    r"(?:#L(?P<first>\d{1,7})(?:-L?(?P<last>\d{1,7}))?)?"
)
_LINES = re.compile(r"(?P<path>.*?)(?:#L(?P<first>\d{1,7})(?:-L?(?P<last>\d{1,7}))?)?", re.DOTALL)
_ENDS = ".,:;!?…"


class Mention(NamedTuple):
    """A file, or lines of it: 1-based, inclusive; 0 for none named."""

    path: str
    first: int = 0
    last: int = 0

    @property
    def written(self) -> str:
        """As it stands behind the ``@``."""
        if not self.first:
            return self.path
        lines = f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"
        return f"{self.path}#L{lines}"


class Found(NamedTuple):
    """A mention, and where it stands."""

    mention: Mention
    start: int
    stop: int


def mentions_in(words: str) -> tuple[Found, ...]:
    """All that could be mentions; whether there are such files is to be seen."""
    found = []
    for match in _MENTION.finditer(words):
        path, stop = match["quoted"] or match["bare"], match.end()
        if match["quoted"] is None and match["first"] is None:
            path = path.rstrip(_ENDS)
            stop = match.start() + 1 + len(path)
        if path.strip("/"):
            found.append(Found(_made(path, match["first"], match["last"]), match.start(), stop))
    return tuple(found)


def mention_of(text: str) -> Mention:
    """``path`` or ``path#L1-20`` as a client names it."""
    match = _LINES.fullmatch(text)
    assert match is not None, "anything matches"
    return _made(match["path"], match["first"], match["last"])


def quoted_path(path: str) -> str:
    """A path as it has to stand behind the ``@``."""
    return f'"{path}"' if re.search(r"[\s@\"'`<>()\[\]{},;#]", path) or path[-1:] in _ENDS else path


def _made(path: str, first: str | None, last: str | None) -> Mention:
    begin = int(first or 0)
    end = int(last or begin)
    return Mention(path, *sorted((begin, end))) if begin else Mention(path)
