"""Base classes and parts of events."""

from __future__ import annotations

from typing import Literal

import msgspec


def _tag(name: str) -> str:
    return name[0].lower() + name[1:]


class _OfTurn(msgspec.Struct, frozen=True, tag_field="type", tag=_tag, rename="camel"):
    """Base with the number of the turn in its session, from 1."""

    turn: int


class OfAgent(_OfTurn, frozen=True, kw_only=True):
    """Base of all events.

    ``agent`` is the id of the call that started the sub-agent; empty for the main agent. A
    sub-agent emits only tools, edits, questions, usage and notices.
    """

    agent: str = ""


class Queued(msgspec.Struct, frozen=True, rename="camel"):
    """A prompt that waits for the running turn."""

    id: str
    title: str
    text: str


class BackgroundCommand(msgspec.Struct, frozen=True, rename="camel"):
    """A background command.

    Attributes:
        id: Such as ``b1``; unique in the session.
        command: Its text.
        state: Whether it runs, has ended by itself, or was stopped.
        exit_code: The exit code once it has ended; negative for a signal.
        seconds: How long it has run.
        tail: The last lines of its output, for lists.
        path: The file of its output; empty if the output was not kept.
        by: Who stopped it, ``model`` or ``user``; empty if nobody did.
    """

    id: str
    command: str
    state: Literal["running", "ended", "stopped"]
    exit_code: int | None
    seconds: float
    tail: str
    path: str = ""
    by: str = ""


class FileChanged(msgspec.Struct, frozen=True, rename="camel"):
    """Lines added and removed in one file by a whole turn."""

    path: str
    added: int
    removed: int
