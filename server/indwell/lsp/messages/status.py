"""Typed messages about the whole server: status, providers, skills, the editor's own models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from indwell.lsp.messages.values import Value
from indwell.messages import Effort
from indwell.settings.model import Mode


class SkillsParams(Value, frozen=True):
    """No fields."""


class SkillRow(Value, frozen=True):
    """One skill; ``source`` is ``user``, ``workspace`` or ``indwell``."""

    name: str
    description: str
    source: str


class SkillsResult(Value, frozen=True):
    """All available skills, by name; those of a workspace only if it is trusted as it is."""

    skills: tuple[SkillRow, ...]


class CommandsParams(Value, frozen=True):
    """Asks for a session's background commands; ``stop`` is the id of one to stop first.

    ``session`` is by default the current one.
    """

    session: str | None = None
    stop: str | None = None


class CommandsResult(Value, frozen=True):
    """All background commands of a session, oldest first; null without a session.

    Each entry is as in ``CommandsChanged``, with its present output.
    """

    session: str | None
    commands: tuple[Mapping[str, Any], ...]


class TasksParams(Value, frozen=True):
    """Asks for the tasks of the workspace, or changes them.

    Attributes:
        words: A command as after ``/tasks`` in a prompt, such as ``run t1 t2``; empty: the list.
    """

    words: str = ""


class TasksResult(Value, frozen=True):
    """The tasks of the workspace after the command.

    Attributes:
        answer: The result of the command, in words for the user.
        tasks: All tasks, each as in ``TasksChanged``.
    """

    answer: str
    tasks: tuple[Mapping[str, Any], ...]


class StatusParams(Value, frozen=True):
    """Asks about a session; by default the current one.

    A session that is not open has the mode and the model of the next new session, and no title.
    """

    session: str | None = None


class RunningTurn(Value, frozen=True):
    """A turn that runs in another session than the current one."""

    session: str
    turn: int


class StatusResult(Value, frozen=True):
    """The contents of a status bar and an empty panel.

    Attributes:
        session: The session; null if there is no current one yet.
        title: Its title; empty if missing.
        mode: The mode from the next turn on.
        modes: The modes that may be chosen here.
        model: The chosen model; empty if none is.
        effort: The model's reasoning effort; empty: the model decides.
        efforts: The efforts to choose from; empty if the model is not known to think.
        lacking: Why no model can be called; empty if a model can be called.
        trusted: Whether all folders are trusted as they are now.
        running: The number of the running turn; 0 while its session is being opened. Null after the
            turn's last event.
        version: The server's version.
        pictures: Whether the model takes pictures; null if unknown.
        cost: The session's US dollars; null without a session or if a price is unknown.
        beside: The turns that run in other sessions than the current one, oldest first.
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


class ProvidersParams(Value, frozen=True):
    """No fields."""


class LocalRow(Value, frozen=True):
    """A model server on this machine; ``note`` names a problem, or why it is not ready."""

    name: str
    title: str
    url: str
    models: tuple[str, ...]
    ready: bool
    note: str


class KnownRow(Value, frozen=True):
    """A provider on the network by name; ``page`` is where a key is made."""

    name: str
    title: str
    url: str
    page: str


class ProvidersResult(Value, frozen=True):
    """The servers and providers; ``lacking`` as in ``StatusResult``.

    ``editor``: the names of the editor's own models.
    """

    lacking: str
    local: tuple[LocalRow, ...]
    known: tuple[KnownRow, ...]
    editor: tuple[str, ...] = ()


class FirstRunParams(Value, frozen=True):
    """No model can be called, for this ``reason``: the client leads the user to one."""

    reason: str


class FirstRunResult(Value, frozen=True):
    """True: a model can be called now. False: the user declined."""

    ok: bool


McpAction: TypeAlias = Literal["list", "add", "remove", "approve", "restart", "login"]


class McpParams(Value, frozen=True):
    """What to do with the MCP servers before they are listed.

    Attributes:
        action: ``add`` puts a server into the user's settings; ``approve`` asks the user about one
            of the project; ``restart`` ends a server, which starts again when it is needed;
            ``login`` leads the user to a login in the browser, and waits for its end.
        name: The server.
        command: For ``add``: the program and its arguments.
        url: For ``add``: the address, if the server is not a program.
        variables: For ``add``: names of variables of the user's that the program gets.
        hosts: For ``add``: hosts that the program may reach from its sandbox.
        header: For ``add``: a header for the address; its value comes from ``header_variable``.
        header_variable: The name of a variable of the user's.
    """

    action: McpAction = "list"
    name: str = ""
    command: tuple[str, ...] = ()
    url: str = ""
    variables: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    header: str = ""
    header_variable: str = ""


class McpOffer(Value, frozen=True):
    """A prompt or a resource of a server: what the user writes, ``/`` or ``@`` included."""

    text: str
    description: str


class McpTool(Value, frozen=True):
    """A tool of a server.

    Attributes:
        name: Its name, as the server spells it.
        description: The first words of the server's description.
        claims: The server's claims about the tool, such as ``read-only``; they decide nothing.
        permission: What the user's rules say of the tool; ``ask`` also if no rule names it.
        rule: The rule that decides; empty if none does.
    """

    name: str
    description: str
    claims: tuple[str, ...]
    permission: Literal["ask", "allow", "deny"]
    rule: str


class McpRow(Value, frozen=True):
    """One MCP server.

    Attributes:
        name: Its name.
        standing: ``usable``, ``open`` (the user has not decided), ``declined``, ``restricted`` (its
            folder is not trusted), or ``off``.
        state: The state of its connection; ``idle`` if no session needs it yet.
        problem: Why it does not run; empty if nothing is wrong.
        source: Where it is defined, for people.
        own: Whether it is in the user's own settings, and can be removed here.
        runs: Its command line or address, as it is written.
        tools: How many tools it offers; null if that is not known yet.
        prompts: Its prompts, such as ``/server:prompt``; empty before it runs.
        resources: Its resources, such as ``@server:uri``.
        remote: Whether it is at an address, and may want a login.
        offers: Its tools, at most 200; empty before it runs.
    """

    name: str
    standing: Literal["usable", "open", "declined", "restricted", "off"]
    state: str
    problem: str
    source: str
    own: bool
    runs: str
    tools: int | None
    prompts: tuple[McpOffer, ...]
    resources: tuple[McpOffer, ...]
    remote: bool = False
    offers: tuple[McpTool, ...] = ()


class McpResult(Value, frozen=True):
    """The MCP servers of the workspace, and a sentence for each definition that is wrong."""

    servers: tuple[McpRow, ...]
    problems: tuple[str, ...]


class RenameParams(Value, frozen=True):
    """A title for a session; an empty title restores the original."""

    session: str
    title: str


class RenameResult(Value, frozen=True):
    """The session's present title."""

    session: str
    title: str


class DeleteParams(Value, frozen=True):
    """The session to delete for good."""

    session: str


class DeleteResult(Value, frozen=True):
    """Whether the session was deleted."""

    deleted: bool


class EditorModelsParams(Value, frozen=True):
    """No fields."""


class EditorModelRow(Value, frozen=True):
    """A language model of the editor's own.

    Attributes:
        vendor: The vendor of the model.
        id: The vendor's id of the model; Indwell's name for it is ``VENDOR/ID@vscode``.
        window: Tokens that a prompt may have; null if unknown.
        pictures: Whether it takes pictures; null if unknown.
        tools: Whether it takes tools; null if unknown.
    """

    vendor: str
    id: str
    window: int | None = None
    pictures: bool | None = None
    tools: bool | None = None


class EditorModelsResult(Value, frozen=True):
    """All language models that the editor offers now."""

    models: tuple[EditorModelRow, ...]


class DidChangeEditorModelsParams(Value, frozen=True):
    """No fields: the editor offers other models now, and is asked again when they are needed."""


class ModelMessage(Value, frozen=True):
    """A message to a model. A message of the user with results has no other parts.

    Each part has a ``kind``: ``text`` has ``text``; ``picture`` has ``mime`` and ``data`` (base64);
    ``call`` has ``id``, ``name`` and ``arguments`` (a JSON object as text); ``result`` has the
    ``id`` of its call and ``text``.
    """

    role: Literal["user", "assistant"]
    parts: tuple[Mapping[str, Any], ...]


class ModelTool(Value, frozen=True):
    """A tool that the model may call; ``schema`` is the text of a JSON schema."""

    name: str
    description: str
    schema: str


class ModelRequest(Value, frozen=True):
    """A request to a model of the editor; the first message holds the system prompt.

    Attributes:
        model: ``VENDOR/ID``.
        messages: In order.
        tools: May be empty.
        justification: The text that the editor shows when it asks the user for consent.
    """

    model: str
    messages: tuple[ModelMessage, ...]
    tools: tuple[ModelTool, ...]
    justification: str


class CompleteParams(Value, frozen=True):
    """A request to a model of the editor; ``id`` names the reply in ``ModelPiecesParams``."""

    id: str
    request: ModelRequest


class CompleteResult(Value, frozen=True):
    """The end of a reply, after its last piece.

    Attributes:
        code: The editor's name of the error; empty if missing.
        message: Its message; both are empty if the reply is complete.
    """

    code: str = ""
    message: str = ""


class ModelPiecesParams(Value, frozen=True):
    """Pieces of a reply, in order.

    Each has a ``kind``: ``text`` and ``thinking`` have ``text``; ``call`` is a whole call, with
    ``id``, ``name`` and ``arguments`` (JSON as text). Others are ignored.
    """

    id: str
    pieces: tuple[Mapping[str, Any], ...]
