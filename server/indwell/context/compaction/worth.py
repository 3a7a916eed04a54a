"""What a line of an old result is worth: what the agent wrote of it since, and how long ago.

The two things that foretell a use best on recorded sessions are that the agent named something of
the line itself, and how many calls ago the text was last used (``docs/decisions/0010``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from indwell.context.calls import call_of
from indwell.messages import Message, Text, ToolResult, ToolUse

_NAME = re.compile(r"[A-Za-z_]\w*(?:[./-]\w+)*")
_LEAST_NAME = 4  # characters of a name that tells something
_SALIENT = re.compile(
    r"\b(?:error|errors|fail(?:ed|ure|s)?|panic|exception|traceback|warning|undefined|cannot)\b"
    r"|^\W*\d*\W*(?:def|class|func|type|fn|struct|interface|const|import|package|export|#+)\b"
    r"|\b(?:total|passed)\b",
    re.IGNORECASE,
)
HALF_LIFE = 12.0  # calls after which a mention counts half
_NAMED, _SAID, _ANY = 2.0, 0.6, 0.15
_MOST = 4.0  # so that a line full of names does not beat everything


class Line(NamedTuple):
    """A line, looked at once: its names, whether it states something, and about its tokens."""

    text: str
    names: tuple[str, ...]
    is_salient: bool
    tokens: float


class Uses(msgspec.Struct, frozen=True):
    """What the agent did with what it was told.

    Attributes:
        n_rounds: Model calls so far.
        named: The call in which the agent last wrote a name.
        used: By the id of a call, the model call in which its result was last used.
        newest_read: By path, the id of the newest call that read it.
        edited: Paths that the agent has edited.
    """

    n_rounds: int
    named: Mapping[str, int]
    used: Mapping[str, int]
    newest_read: Mapping[str, str]
    edited: frozenset[str]


def uses_of(transcript: Sequence[Message]) -> Uses:
    """Follow a conversation from its beginning; work is in proportion to its length."""
    followed = _Followed()
    for message in transcript:
        if message.role == "assistant":
            followed.reply(message)
        else:
            followed.results(message)
    return Uses(
        followed.n_rounds,
        followed.named,
        followed.used,
        followed.newest_read,
        frozenset(followed.edited),
    )


class _Followed:
    """What ``uses_of`` gathers; ``holder`` is the newest result in which a name stands."""

    def __init__(self) -> None:
        self.n_rounds = 0
        self.named: dict[str, int] = {}
        self.used: dict[str, int] = {}
        self.newest_read: dict[str, str] = {}
        self.edited: set[str] = set()
        self._holder: dict[str, str] = {}

    def reply(self, message: Message) -> None:
        self.n_rounds += 1
        for name in _said_names(message):
            self.named[name] = self.n_rounds
            if name in self._holder:
                self.used[self._holder[name]] = self.n_rounds
        for block in message.blocks:
            if isinstance(block, ToolUse):
                self._call(block)

    def results(self, message: Message) -> None:
        for block in message.blocks:
            if isinstance(block, ToolResult):
                self._holder.update(dict.fromkeys(_names_of(block.text), block.tool_use_id))

    def _call(self, use: ToolUse) -> None:
        self.used[use.id] = self.n_rounds
        call = call_of(use)
        if call.path in self.newest_read:
            self.used[self.newest_read[call.path]] = self.n_rounds
        if call.kind in {"edit", "write"} and call.path:
            self.edited.add(call.path)
        if call.kind == "read" and call.path:
            self.newest_read[call.path] = use.id


@lru_cache(maxsize=2_000)
def lines_of(text: str) -> tuple[Line, ...]:
    """The lines of a text, looked at."""
    return tuple(
        Line(line, names_in(line), bool(_SALIENT.search(line)), len(line) / 3.3 + 1)
        for line in text.split("\n")
    )


def names_in(text: str) -> tuple[str, ...]:
    """The names in a text, each once."""
    return tuple(dict.fromkeys(one for one in _NAME.findall(text) if len(one) >= _LEAST_NAME))


def worth(line: Line, uses: Uses) -> float:
    """How likely it is that a line is needed; only comparisons of it mean something."""
    if not line.text.strip():
        return 0.0
    value = _ANY + _SAID * line.is_salient
    for name in line.names:
        at = uses.named.get(name)
        if at is not None:
            value += _NAMED / (1 + (uses.n_rounds - at) / HALF_LIFE)
    return min(value, _MOST)


def freshness(age: int) -> float:
    """What the age of a text's last use, in model calls, leaves of its worth."""
    return 1 / (1 + max(0, age) / HALF_LIFE)


def _said_names(message: Message) -> Iterable[str]:
    for block in message.blocks:
        match block:
            case Text():
                yield from names_in(block.text)
            case ToolUse():
                for text in argument_texts(block.arguments):
                    yield from names_in(text)
            case _:
                pass


@lru_cache(maxsize=2_000)
def argument_texts(arguments: str) -> tuple[str, ...]:
    """The texts among the arguments of a call; all of it as one, if it is no JSON object."""
    try:
        given = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return (arguments,)
    return tuple(_texts(given))


def _texts(value: object) -> Iterable[str]:
    match value:
        case str():
            yield value
        case dict():
            for one in value.values():
                yield from _texts(one)
        case list():
            for one in value:
                yield from _texts(one)
        case _:
            pass


@lru_cache(maxsize=2_000)
def _names_of(text: str) -> frozenset[str]:
    return frozenset(names_in(text))
