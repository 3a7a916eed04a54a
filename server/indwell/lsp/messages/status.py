"""Typed messages about the server as a whole: status, providers, skills, background commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from indwell.lsp.messages.values import Value
from indwell.messages import Effort
from indwell.settings.model import Mode


@attrs.frozen(eq=False, repr=False)
class SkillsParams(Value):
    """No fields."""


@attrs.frozen(eq=False, repr=False)
class SkillRow(Value):
    """One skill; ``source`` is ``user``, ``workspace`` or ``indwell``."""

    name: str
    description: str
    source: str


@attrs.frozen(eq=False, repr=False)
class SkillsResult(Value):
    """All available skills, by name; those of a workspace only if it is trusted as it is."""

    skills: tuple[SkillRow, ...]


@attrs.frozen(eq=False, repr=False)
class CommandsParams(Value):
    """Asks for a session's background commands; ``stop`` is the id of one to stop first.

    ``session`` is by default the current one.
    """

    session: str | None = None
    stop: str | None = None


@attrs.frozen(eq=False, repr=False)
class CommandsResult(Value):
    """All background commands of a session, oldest first; null without a session.

    Each entry is as in ``CommandsChanged``, with its present output.
    """

    session: str | None
    commands: tuple[Mapping[str, Any], ...]


@attrs.frozen(eq=False, repr=False)
class StatusParams(Value):
    """No fields."""


@attrs.frozen(eq=False, repr=False)
class RunningTurn(Value):
    """A turn that runs in another session than the current one."""

    session: str
    turn: int


@attrs.frozen(eq=False, repr=False)
class StatusResult(Value):
    """What a status bar and an empty panel show.

    Attributes:
        session: The current session; null before the first prompt.
        title: Its title; empty if there is none.
        mode: The mode from the next turn on.
        modes: The modes that may be chosen here.
        model: The chosen model; empty if none is.
        effort: How much it thinks; empty: it decides itself.
        efforts: What may be chosen for that; empty if the model is not known to think.
        lacking: Why no model can be called; empty if one can.
        trusted: Whether all folders are trusted as they are now.
        running: The number of the running turn; 0 while its session is being opened. Null after the
            turn's last event.
        version: The server's version.
        pictures: Whether the model takes pictures; null if unknown.
        cost: The session's US dollars; null without a session or if a price is unknown.
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
    effort: Effort = ""
    efforts: tuple[Effort, ...] = ()


@attrs.frozen(eq=False, repr=False)
class ProvidersParams(Value):
    """No fields."""


@attrs.frozen(eq=False, repr=False)
class LocalRow(Value):
    """A model server on this machine; ``note`` names a problem, or why it is not ready."""

    name: str
    title: str
    url: str
    models: tuple[str, ...]
    ready: bool
    note: str


@attrs.frozen(eq=False, repr=False)
class KnownRow(Value):
    """A provider on the network by name; ``page`` is where a key is made."""

    name: str
    title: str
    url: str
    page: str


@attrs.frozen(eq=False, repr=False)
class ProvidersResult(Value):
    """The servers and providers; ``lacking`` as in ``StatusResult``."""

    lacking: str
    local: tuple[LocalRow, ...]
    known: tuple[KnownRow, ...]


@attrs.frozen(eq=False, repr=False)
class FirstRunParams(Value):
    """No model can be called, for this ``reason``: the client leads the user to one."""

    reason: str


@attrs.frozen(eq=False, repr=False)
class FirstRunResult(Value):
    """True: a model can be called now. False: the user wants none."""

    ok: bool


@attrs.frozen(eq=False, repr=False)
class RenameParams(Value):
    """A title for a session; an empty one restores its own title."""

    session: str
    title: str


@attrs.frozen(eq=False, repr=False)
class RenameResult(Value):
    """The session's present title."""

    session: str
    title: str


@attrs.frozen(eq=False, repr=False)
class DeleteParams(Value):
    """The session to delete for good."""

    session: str


@attrs.frozen(eq=False, repr=False)
class DeleteResult(Value):
    """Whether it is deleted."""

    deleted: bool
