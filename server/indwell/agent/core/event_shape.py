"""What events are made of: what each says of itself, and what some carry."""

from __future__ import annotations

from typing import Literal

import msgspec


def _tag(name: str) -> str:
    return name[0].lower() + name[1:]


class _OfTurn(msgspec.Struct, frozen=True, tag_field="type", tag=_tag, rename="camel"):
    """Which turn of the session, 1-based."""

    turn: int


class OfAgent(_OfTurn, frozen=True, kw_only=True):
    """Base of all events.

    ``agent`` is the id of the call whose sub-agent did it, empty for the main one. Of a
    sub-agent only what it does is told: tools, edits, questions, usage, notices.
    """

    agent: str = ""


class Queued(msgspec.Struct, frozen=True, rename="camel"):
    """A prompt that waits for the running turn."""

    id: str
    title: str
    text: str


class BackgroundCommand(msgspec.Struct, frozen=True, rename="camel"):
    """A command that runs on while the work goes on.

    Attributes:
        id: Such as ``b1``; unique in the session.
        command: Its text.
        state: It runs, has ended by itself, or was stopped.
        exit_code: Once it has ended; negative for a signal.
        seconds: That it has run.
        tail: The last lines of its output, for a list.
        path: Of the file that its output goes to; empty if it was not kept.
        by: ``model`` or ``user``: who stopped it; empty if nobody did.
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
