"""Defines messages about the whole server: status, providers, skills, the editor's models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from indwell.lsp.messages.values import Value
from indwell.messages import Effort
from indwell.settings.model import Mode


class SkillsParams(Value, frozen=True):
    """The parameters are empty."""


class SkillRow(Value, frozen=True):
    """One skill; ``source`` is ``user``, ``workspace`` or ``indwell``."""

    name: str
    description: str
    source: str


class SkillsResult(Value, frozen=True):
    """All available skills, by name; a workspace's skills only if the workspace is trusted."""

    skills: tuple[SkillRow, ...]


class CommandsParams(Value, frozen=True):
    """Asks for a session's background commands, and first stops the command with id ``stop``.

    ``session`` is by default the current session.
    """

    session: str | None = None
    stop: str | None = None


class CommandsResult(Value, frozen=True):
    """All background commands of a session, oldest first, or null if there is no session.

    Each entry is like those of ``CommandsChanged``, with the present output.
    """

    session: str | None
    commands: tuple[Mapping[str, Any], ...]


class TasksParams(Value, frozen=True):
    """Asks for the tasks of the workspace, or changes them.

    Attributes:
        words: The text after ``/tasks`` in a prompt, such as ``run t1 t2``; empty to list the
            tasks.
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
    """Asks for the status of a session; by default of the current session.

    A session that is not open has the mode and the model of the next new session, and no title.
    """

    session: str | None = None


class RunningTurn(Value, frozen=True):
    """A turn that runs in a session other than the current session."""

    session: str
    turn: int


class StatusResult(Value, frozen=True):
    """The contents of a status bar and an empty panel.

    Attributes:
        session: The session's id, or null if there is no current session yet.
        title: The title of the session, or empty if the session has no title.
        mode: The mode from the next turn on.
        modes: The modes that may be chosen here.
        model: The chosen model, or empty if no model is chosen.
        effort: The model's reasoning effort, or empty if the model decides.
        efforts: The efforts to choose from, or empty if the model is not known to support
            reasoning.
        lacking: The reason why no model can be called, or empty if a model can be called.
        trusted: Whether all folders are trusted with their present contents.
        running: The number of the running turn, or 0 while the session is being opened, and null
            after the turn's last event.
        version: The server's version.
        pictures: Whether the model accepts pictures, or null if unknown.
        cost: The session's cost in US dollars, or null if there is no session or a price is
            unknown.
        beside: The turns that run in other sessions, oldest first.
        undecided: A phrase that counts the folders' files that have no effect until the user
            decides, or empty if there are no such files.
        unapproved: The project's MCP servers that are not used, because the user was asked about
            the servers and has not decided.
        demo: ``scripted`` in a made-up project with the scripted model; ``connected`` in that
            project when the user's own settings name a model; empty outside the project.
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
    undecided: str = ""
    unapproved: tuple[str, ...] = ()
    demo: Literal["", "scripted", "connected"] = ""


class DemoParams(Value, frozen=True):
    """No fields."""


class DemoResult(Value, frozen=True):
    """A made-up project: the project of a demo's window, or a new one on this machine.

    Attributes:
        folder: The path of the project's folder.
        file: The path of the file with a fault.
        first: The first line of the faulty function, 0-based.
        last: The last line of the faulty function, 0-based.
    """

    folder: str
    file: str
    first: int
    last: int


class ProvidersParams(Value, frozen=True):
    """The parameters are empty."""


class LocalRow(Value, frozen=True):
    """A model server on this machine; ``note`` names a problem, or why the server is not ready."""

    name: str
    title: str
    url: str
    models: tuple[str, ...]
    ready: bool
    note: str


class KnownRow(Value, frozen=True):
    """A provider on the network, by name; ``page`` is the page where the user creates a key."""

    name: str
    title: str
    url: str
    page: str


class ProvidersResult(Value, frozen=True):
    """The model servers and providers; ``lacking`` is explained in ``StatusResult``.

    ``editor`` lists the names of the editor's own models.
    """

    lacking: str
    local: tuple[LocalRow, ...]
    known: tuple[KnownRow, ...]
    editor: tuple[str, ...] = ()


class FirstRunParams(Value, frozen=True):
    """No model can be called for this ``reason``; the client helps the user connect a model."""

    reason: str


class FirstRunResult(Value, frozen=True):
    """True if a model can be called now; false if the user declined."""

    ok: bool


McpAction: TypeAlias = Literal["list", "add", "remove", "approve", "restart", "login", "log"]


class McpParams(Value, frozen=True):
    """The action to carry out before the MCP servers are listed.

    Attributes:
        action: ``add`` adds a server to the user's settings; ``approve`` asks the user about a
            project's server; ``restart`` stops a server, which starts again when it is needed;
            ``login`` opens a login in the browser, and waits for its end; ``log`` reads the log of
            a server that an open session uses.
        name: The server's name.
        command: The program and its arguments, for ``add``.
        url: The address, for ``add``, if the server is not a program.
        variables: The names of the user's variables that the program gets, for ``add``.
        hosts: The hosts that the program may reach from its sandbox, for ``add``.
        header: A header for the address, for ``add``; ``header_variable`` gives its value.
        header_variable: The name of the user's variable that has the header's value.
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
    """A prompt or resource of a server: the text that the user writes, with ``/`` or ``@``."""

    text: str
    description: str


class McpTool(Value, frozen=True):
    """A tool of a server.

    Attributes:
        name: The tool's name, as the server spells it.
        description: The first words of the server's description.
        claims: What the server claims about the tool, such as ``read-only``; claims have no effect.
        permission: The permission by the user's rules; ``ask`` also if no rule names the tool.
        rule: The rule that decides, or empty if no rule names the tool.
    """

    name: str
    description: str
    claims: tuple[str, ...]
    permission: Literal["ask", "allow", "deny"]
    rule: str


class McpRow(Value, frozen=True):
    """One MCP server.

    Attributes:
        name: The server's name.
        standing: ``usable``, ``open`` (the user has not decided), ``declined``, ``restricted`` (the
            server's folder is not trusted), or ``off``.
        state: The state of the connection; ``idle`` if no session needs the server yet.
        problem: The reason why the server does not run, or empty if there is no problem.
        source: The displayed path of the server's definition.
        own: Whether the server is in the user's own settings, and can be removed there.
        runs: The server's command line or address, as written.
        tools: The number of tools, or null if not known yet.
        prompts: The server's prompts, such as ``/server:prompt``, or empty before the server runs.
        resources: The server's resources, such as ``@server:uri``.
        remote: Whether the server is at an address, and may require a login.
        offers: The server's tools, at most 200, or empty before the server runs.
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
    """The MCP servers of the workspace.

    Attributes:
        servers: The servers.
        problems: A sentence for each wrong definition.
        log: The newest lines of the log of the named server, for ``log``, each with its time and
            source. Secrets are hidden.
    """

    servers: tuple[McpRow, ...]
    problems: tuple[str, ...]
    log: tuple[str, ...] = ()


class RenameParams(Value, frozen=True):
    """A title for a session; an empty title restores the original."""

    session: str
    title: str


class RenameResult(Value, frozen=True):
    """The session's present title."""

    session: str
    title: str


class DeleteParams(Value, frozen=True):
    """Names the session to delete permanently."""

    session: str


class DeleteResult(Value, frozen=True):
    """Whether the session was deleted."""

    deleted: bool


class EditorModelsParams(Value, frozen=True):
    """The parameters are empty."""


class EditorModelRow(Value, frozen=True):
    """A language model that the editor provides.

    Attributes:
        vendor: The vendor of the model.
        id: The vendor's id of the model, which Indwell calls ``VENDOR/ID@vscode``.
        window: The limit of tokens for a prompt, or null if unknown.
        pictures: Whether the model accepts pictures, or null if unknown.
        tools: Whether the model accepts tools, or null if unknown.
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
    """The list of the editor's models has changed; the server asks for the list when needed."""


class ModelMessage(Value, frozen=True):
    """A message to a model; a user message with tool results has no other parts.

    Each part of the message has a ``kind``: ``text`` has ``text``; ``picture`` has ``mime`` and
    ``data`` (base64); ``call`` has ``id``, ``name`` and ``arguments`` (a JSON object as text);
    ``result`` has the ``id`` of its call and ``text``.
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
        model: The model, as ``VENDOR/ID``.
        messages: The messages, in order.
        tools: The tools; may be empty.
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
    """The end of a model's reply, after the last part.

    Attributes:
        code: The editor's name for the error, or empty if there is no error.
        message: The error's message, or empty if the reply is complete.
    """

    code: str = ""
    message: str = ""


class ModelPiecesParams(Value, frozen=True):
    """Parts of a model's reply, in order.

    Each part has a ``kind``: ``text`` and ``thinking`` have ``text``; ``call`` is a complete tool
    call with ``id``, ``name`` and ``arguments`` (JSON as text). Other kinds are ignored.
    """

    id: str
    pieces: tuple[Mapping[str, Any], ...]
