"""A text as the lines that compaction may leave out one by one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

import msgspec

from indwell.context import identifiers
from indwell.context.identifiers import line_key, names_in
from indwell.messages import Block, Text, ToolResult, ToolUse

_CHARACTERS = 3.3  # a token, about; only lines of one conversation are compared


class Line(msgspec.Struct, frozen=True, gc=False):
    """A line, looked at once.

    Attributes:
        text: Itself.
        names: Its identifiers.
        key: As it is compared with lines of other texts; empty if it is too short to matter.
        tokens: About.
    """

    text: str
    names: tuple[str, ...]
    key: str
    tokens: float


@lru_cache(maxsize=1_000)
def lines_of(text: str) -> tuple[Line, ...]:
    """The lines of a text, looked at."""
    return tuple(map(_looked_at, text.split("\n")))


def _looked_at(line: str) -> Line:
    key = line_key(line)
    return Line(
        line, tuple(names_in(line)), line if key == line else key, len(line) / _CHARACTERS + 1
    )


def forget() -> None:
    """Let go of what the last decisions have read: several times the memory of the texts."""
    lines_of.cache_clear()
    argument_texts.cache_clear()
    identifiers.forget()


def text_of(block: Block) -> str:
    """What a model reads of a block: of a call its arguments as they are meant."""
    match block:
        case Text() | ToolResult():
            return block.text
        case ToolUse():
            return "\n".join(argument_texts(block.arguments))
        case _:
            return ""


@lru_cache(maxsize=1_000)
def argument_texts(arguments: str) -> tuple[str, ...]:
    """The texts among the arguments of a call; all of it as one, if it is no JSON object."""
    try:
        given = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return (arguments,)
    return tuple(_texts(given))


def names_of(block: Block) -> Iterable[str]:
    """The identifiers of a block; some come more than once."""
    return (name for line in lines_of(text_of(block)) for name in line.names)


def _texts(value: object) -> Iterator[str]:
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
