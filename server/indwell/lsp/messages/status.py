"""Typed messages about the whole server: status, providers, skills, the editor's own models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

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
    """The servers and providers; ``lacking`` as in ``StatusResult``.

    ``editor``: the names of the editor's own models.
    """

    lacking: str
    local: tuple[LocalRow, ...]
    known: tuple[KnownRow, ...]
    editor: tuple[str, ...] = ()


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


@attrs.frozen(eq=False, repr=False)
class EditorModelsParams(Value):
    """No fields."""


@attrs.frozen(eq=False, repr=False)
class EditorModelRow(Value):
    """A language model of the editor's own.

    Attributes:
        vendor: Who brings it.
        id: Its id among those of the vendor; its name here is ``VENDOR/ID@vscode``.
        window: Tokens that a prompt may have; null if unknown.
        pictures: Whether it takes pictures; null if unknown.
        tools: Whether it takes tools; null if unknown.
    """

    vendor: str
    id: str
    window: int | None = None
    pictures: bool | None = None
    tools: bool | None = None


@attrs.frozen(eq=False, repr=False)
class EditorModelsResult(Value):
    """All language models that the editor offers now."""

    models: tuple[EditorModelRow, ...]


@attrs.frozen(eq=False, repr=False)
class DidChangeEditorModelsParams(Value):
    """No fields: the editor offers other models now, and is asked again when they are needed."""


@attrs.frozen(eq=False, repr=False)
class ModelMessage(Value):
    """A message to a model. Results stand alone in a message of the user.

    Each part has a ``kind``: ``text`` has ``text``; ``picture`` has ``mime`` and ``data`` (base64);
    ``call`` has ``id``, ``name`` and ``arguments`` (a JSON object as text); ``result`` has the
    ``id`` of its call and ``text``.
    """

    role: Literal["user", "assistant"]
    parts: tuple[Mapping[str, Any], ...]


@attrs.frozen(eq=False, repr=False)
class ModelTool(Value):
    """A tool that the model may call; ``schema`` is the text of a JSON schema."""

    name: str
    description: str
    schema: str


@attrs.frozen(eq=False, repr=False)
class ModelRequest(Value):
    """A request to a model of the editor; the first message holds the system prompt.

    Attributes:
        model: ``VENDOR/ID``.
        messages: In order.
        tools: May be empty.
        justification: What the editor shows when it asks the user for consent.
    """

    model: str
    messages: tuple[ModelMessage, ...]
    tools: tuple[ModelTool, ...]
    justification: str


@attrs.frozen(eq=False, repr=False)
class CompleteParams(Value):
    """A request to a model of the editor; ``id`` names the reply in ``ModelPiecesParams``."""

    id: str
    request: ModelRequest


@attrs.frozen(eq=False, repr=False)
class CompleteResult(Value):
    """The end of a reply, after its last piece.

    Attributes:
        code: The editor's name of the error; empty if there is none.
        message: Its message; both are empty if the reply is complete.
    """

    code: str = ""
    message: str = ""


@attrs.frozen(eq=False, repr=False)
class ModelPiecesParams(Value):
    """Pieces of a reply, in order.

    Each has a ``kind``: ``text`` and ``thinking`` have ``text``; ``call`` is a whole call, with
    ``id``, ``name`` and ``arguments`` (JSON as text). Others are ignored.
    """

    id: str
    pieces: tuple[Mapping[str, Any], ...]
