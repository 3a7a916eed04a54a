"""Typed messages about the server as a whole: status, providers, skills and background commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from indwell.lsp.messages.values import Value
from indwell.settings.model import Mode


@attrs.frozen(eq=False, repr=False)
class SkillsParams(Value):
    """Nothing is asked with it."""


@attrs.frozen(eq=False, repr=False)
class SkillRow(Value):
    """One skill; ``source`` is ``user``, ``workspace`` or ``indwell``."""

    name: str
    description: str
    source: str


@attrs.frozen(eq=False, repr=False)
class SkillsResult(Value):
    """All that count now, by name; those of a workspace only if it is trusted as it is."""

    skills: tuple[SkillRow, ...]


@attrs.frozen(eq=False, repr=False)
class CommandsParams(Value):
    """Asks for a session's background commands; ``stop`` is the id of one that is ended first.

    ``session`` is the current one if it is left out.
    """

    session: str | None = None
    stop: str | None = None


@attrs.frozen(eq=False, repr=False)
class CommandsResult(Value):
    """All background commands of a session, oldest first; null is no session yet.

    Each is what ``CommandsChanged`` tells of it, with the output of this moment.
    """

    session: str | None
    commands: tuple[Mapping[str, Any], ...]


@attrs.frozen(eq=False, repr=False)
class StatusParams(Value):
    """Nothing to say."""


@attrs.frozen(eq=False, repr=False)
class RunningTurn(Value):
    """A turn that runs in another session than the current one."""

    session: str
    turn: int


@attrs.frozen(eq=False, repr=False)
class StatusResult(Value):
    """What a status bar and an empty panel show.

    Attributes:
        session: The current one; null before the first prompt.
        title: Of it; empty where there is none.
        mode: In force from the next turn on.
        modes: Those that may be chosen here.
        model: Chosen; empty if none is.
        lacking: Why no model can be called; empty if one can.
        trusted: Are all folders trusted as they are now?
        running: The number of the running turn; 0 while its session is being opened. Null from the
            turn's last event on.
        version: Of the server.
        pictures: Does the model take pictures? Null if nobody knows.
        cost: Of the session, in US dollars; null if there is none, or a price is unknown.
        beside: The turns that run in other sessions, oldest first.
    """

    session: str | None
    title: str
    mode: Mode
    modes: tuple[Mode, ...]
    model: str
    lacking: str
    trusted: bool
    running: int | None
    version: str
    pictures: bool | None
    cost: float | None
    beside: tuple[RunningTurn, ...] = ()


@attrs.frozen(eq=False, repr=False)
class ProvidersParams(Value):
    """Nothing to say."""


@attrs.frozen(eq=False, repr=False)
class LocalRow(Value):
    """A model server on this machine; ``note`` says what will disturb, or why it is not ready."""

    name: str
    title: str
    url: str
    models: tuple[str, ...]
    ready: bool
    note: str


@attrs.frozen(eq=False, repr=False)
class KnownRow(Value):
    """A provider of the network by name; ``page`` is where a key is made."""

    name: str
    title: str
    url: str
    page: str


@attrs.frozen(eq=False, repr=False)
class ProvidersResult(Value):
    """Who could answer; ``lacking`` as in ``StatusResult``."""

    lacking: str
    local: tuple[LocalRow, ...]
    known: tuple[KnownRow, ...]


@attrs.frozen(eq=False, repr=False)
class FirstRunParams(Value):
    """No model can be called, and ``reason`` says why: the client leads the user to one."""

    reason: str


@attrs.frozen(eq=False, repr=False)
class FirstRunResult(Value):
    """True: one can be called now. False: the user wants none."""

    ok: bool


@attrs.frozen(eq=False, repr=False)
class RenameParams(Value):
    """A title for a session; an empty one gives it back the title that it had by itself."""

    session: str
    title: str


@attrs.frozen(eq=False, repr=False)
class RenameResult(Value):
    """The title that it has now."""

    session: str
    title: str


@attrs.frozen(eq=False, repr=False)
class DeleteParams(Value):
    """The session that is to go, for good."""

    session: str


@attrs.frozen(eq=False, repr=False)
class DeleteResult(Value):
    """Is it gone?"""

    deleted: bool
