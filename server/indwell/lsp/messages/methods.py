"""The typed messages of our own: ``indwell/*`` methods and the arguments of commands.

The converter, ``docs/protocol.md`` and the TypeScript types are made from the table ``METHODS`` or
checked against it. Field names are single words, so they are the same here and on the wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from indwell.agent.core.events import Event
from indwell.lsp.messages import context, documents, status, views
from indwell.lsp.messages.context import Attachment, SourceDiagnostics
from indwell.lsp.messages.documents import ChatArguments, SendArguments
from indwell.lsp.messages.features import TASK_COMMANDS
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.messages.status import SkillsParams, SkillsResult
from indwell.lsp.messages.values import CommandArguments, Value
from indwell.messages import Effort
from indwell.policy.approvals import Answer, AskedKind
from indwell.sessions.records import Ending
from indwell.settings.model import Mode


class HunkShown(Value, frozen=True):
    """One hunk of an edit in question: its name, its place, its lines, escaped."""

    id: str
    header: str
    text: str


class PermissionParams(Value, frozen=True):
    """Asks for a permission; ``detail`` is exactly what would run, or the diff of the edit.

    Attributes:
        id: The id of the question.
        title: One line.
        detail: The complete text, with characters that could hide or reorder text as code points.
        reason: Why the user is asked.
        rule: What ``session`` and ``always`` store; empty if they are not offered.
        cwd: The folder in which a command would run.
        sandbox: How commands are confined here, in words.
        more: The further access that a yes allows for this one call, in words.
        why: The model's reason in its own words; show it as such.
        wanted: Whether the model itself asks for ``more``; show that prominently.
        risky: The parts of a command that cause the question.
        hunks: The hunks of an edit with several, each of which can be answered.
        kind: The kind of permission.
        session: The id of the session whose turn asks; empty if none does.
    """

    id: str
    title: str
    detail: str
    reason: str
    rule: str
    cwd: str = ""
    sandbox: str = ""
    more: str = ""
    why: str = ""
    wanted: bool = False
    risky: tuple[str, ...] = ()
    hunks: tuple[HunkShown, ...] = ()
    kind: AskedKind = "other"
    session: str = ""


class PermissionResult(Value, frozen=True):
    """The user's answer; anything but these words counts as ``no``.

    With a yes, ``hunks`` names those of the question that are allowed once, and no others; if left
    out, all are.
    """

    answer: Answer
    hunks: tuple[str, ...] | None = None


class AskParams(Value, frozen=True):
    """A question to the user, answered by a line of text or by one of some options.

    Attributes:
        prompt: The question; if the model asks, only its visible text, at most 1,000 characters.
        placeholder: An example of an answer.
        by: The asker. A question of the model is never a permission question, and must not look
            like one.
        options: Answers to choose from, a line each; the user may answer in words instead.
        session: The session whose turn asks; empty if none does.
        id: The id of the model's call that asks, as in ``toolStarted``; empty if none does.
    """

    prompt: str
    placeholder: str = ""
    by: Literal["indwell", "model"] = "indwell"
    options: tuple[str, ...] = ()
    session: str = ""
    id: str = ""


class AskResult(Value, frozen=True):
    """The typed text, or the 0-based index of the chosen option; without an answer, nulls."""

    text: str | None = None
    chosen: int | None = None


class MemoryArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.memory``; all fields are optional.

    Attributes:
        scope: Facts about this workspace, or about the user everywhere.
    """

    scope: Literal["workspace", "user"] = "workspace"


class MemoryResult(Value, frozen=True):
    """The file with the facts: its URI, and whether the editor has opened it."""

    uri: str
    path: str
    shown: bool


class CommitMessageArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.commitMessage``; all fields are optional.

    Attributes:
        uri: A folder of the repository; by default the first one of the workspace.
        quiet: The client shows the message itself, and gets problems as errors.
        wait: Answer when the message is there.
    """

    uri: str | None = None
    quiet: bool = False
    wait: bool = False


class CommitMessageResult(Value, frozen=True):
    """A message for a git commit.

    Attributes:
        message: The text.
        staged: It is about the staged changes; else about those of the tree.
    """

    message: str
    staged: bool


class DidChangeSelectionParams(Value, frozen=True):
    """The user selected something; the text comes from the synchronised buffer, never from here."""

    uri: str
    version: int
    ranges: tuple[types.Range, ...]


class DidFocusParams(Value, frozen=True):
    """The document that the user looks at now, or none."""

    uri: str | None = None


class DidChangeDiagnosticsParams(Value, frozen=True):
    """All problems of one document, of all servers; see ``DocumentDiagnostics``."""

    uri: str
    diagnostics: tuple[types.Diagnostic, ...]
    version: int | None = None
    sources: tuple[SourceDiagnostics, ...] = ()


class PromptParams(Value, frozen=True):
    """The user's words; ``session`` is an id, ``new``, or left out for the current session.

    ``mode`` applies to this turn only; the current mode if left out. ``mentions`` name files to
    attach: ``path``, ``path#L3`` or ``path#L1-20``, relative to the first folder; ``path/`` is the
    listing of a folder. With ``beside``, the current session stays the current one.
    """

    text: str
    session: str | None = None
    mode: Mode | None = None
    mentions: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    beside: bool = False


class SteerParams(Value, frozen=True):
    """Words for the running turn; ``session`` is an id, or left out for any session."""

    text: str
    session: str | None = None


class SteerResult(Value, frozen=True):
    """The turn that takes the words, at its next model call.

    ``is_choice``: they only chose an option of a question, or are the line that it asked for.
    """

    session: str
    turn: int
    delivered: bool
    is_choice: bool = False


class QueueParams(Value, frozen=True):
    """Reads or changes the queue; ``seq`` is the state that the client saw: no change is lost.

    ``id`` names the prompt to ``remove``, ``move`` (to the 0-based place ``to``) or ``edit`` (to
    ``text``).
    """

    action: Literal["list", "remove", "move", "edit", "hold", "resume"] = "list"
    seq: int | None = None
    id: str | None = None
    to: int | None = None
    text: str | None = None


class TurnResult(Value, frozen=True):
    """The end of a turn; ``draft`` returns words that never reached the model.

    A prompt that was removed from the queue ends as ``cancelled``, with turn 0 and no session.
    ``verified`` says how the changes are verified; it is empty if missing.
    """

    session: str | None
    turn: int
    ending: Ending
    message: str
    answer: str
    draft: str
    rounds: int
    usage: views.UsageResult
    changes: tuple[views.FileResult, ...]
    verified: str = ""


class EventParams(Value, frozen=True):
    """One event of a session; ``seq`` counts from 1 without gaps."""

    session: str
    seq: int
    event: Mapping[str, Any]


class SaveParams(Value, frozen=True):
    """Documents to save before a command runs."""

    uris: tuple[str, ...]


class SaveResult(Value, frozen=True):
    """The documents that were saved."""

    saved: tuple[str, ...]


class TaskArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.fix`` and its siblings; plain JSON, all fields are optional.

    Attributes:
        uri: The document; the focused one if left out.
        version: Its version when the action was offered.
        range: The place; the selection if left out.
        diagnostics: The problems there.
        text: The user's words, for ``refactor``, ``edit`` and ``ask``.
        wait: Whether to answer only when the turn has ended, with its result.
    """

    uri: str | None = None
    version: int | None = None
    range: types.Range | None = None
    diagnostics: tuple[types.Diagnostic, ...] = ()
    text: str = ""
    wait: bool = False


class EffortArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.effort``.

    Attributes:
        effort: How much the model thinks, from the next turn on; empty: the model decides.
        session: An open session; if left out, the current one and all later ones.
    """

    effort: Effort
    session: str | None = None


class ModeArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.mode``.

    Attributes:
        mode: The mode from the next call on.
        session: An open session; if left out, the current one and all later ones.
    """

    mode: Mode
    session: str | None = None


class CancelArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.cancel``; it may be left out.

    Attributes:
        session: The session whose turn is stopped; by default the current one.
    """

    session: str | None = None


class NewSessionArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.newSession``; it may be left out.

    Attributes:
        inherit: The id of a session whose task is continued: requests, files, what is to be done.
        keep: Whether a running turn goes on beside the new session; otherwise it is stopped.
    """

    inherit: str = ""
    keep: bool = False


class ResumeArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.resume``; all fields are optional.

    Attributes:
        session: The session's id; the user is asked if it is left out.
        model: One of the user's models, in place of the session's own.
        wait: Whether to answer only when it is done.
        quiet: Whether a failure is an error answer, as for requests, and shows no message.
        keep: Whether a running turn goes on beside the session; otherwise it is stopped.
    """

    session: str | None = None
    model: str | None = None
    wait: bool = False
    quiet: bool = False
    keep: bool = False


class TrustArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.trust``; ``wait``: whether to wait for the user's answer."""

    wait: bool = False


class McpArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.mcp``: the fields of ``indwell/mcp``, and ``wait`` as elsewhere."""

    action: status.McpAction = "list"
    name: str = ""
    command: tuple[str, ...] = ()
    url: str = ""
    variables: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    header: str = ""
    header_variable: str = ""
    wait: bool = False


class TasksArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.tasks``, as ``indwell/tasks`` has it.

    Attributes:
        words: A command as after ``/tasks`` in a prompt; empty: the list.
        wait: Whether to answer when the command has been carried out, with its result.
    """

    words: str = ""
    wait: bool = False


class StartedResult(Value, frozen=True):
    """The immediate answer of a command: session and turn that began, or the queued prompt's id."""

    session: str | None
    turn: int | None
    queued: str | None


class Method(NamedTuple):
    """One row of the table; ``direction`` is seen from the server."""

    direction: Literal["in", "out"]
    params: type
    result: type | None


METHODS: Mapping[str, Method] = {
    "indwell/didChangeSelection": Method("in", DidChangeSelectionParams, None),
    "indwell/didFocus": Method("in", DidFocusParams, None),
    "indwell/didChangeDiagnostics": Method("in", DidChangeDiagnosticsParams, None),
    "indwell/prompt": Method("in", PromptParams, TurnResult),
    "indwell/steer": Method("in", SteerParams, SteerResult),
    "indwell/queue": Method("in", QueueParams, views.QueueResult),
    "indwell/sessions": Method("in", views.SessionsParams, views.SessionsResult),
    "indwell/session": Method("in", views.SessionParams, views.SessionResult),
    "indwell/rename": Method("in", status.RenameParams, status.RenameResult),
    "indwell/delete": Method("in", status.DeleteParams, status.DeleteResult),
    "indwell/status": Method("in", status.StatusParams, status.StatusResult),
    "indwell/providers": Method("in", status.ProvidersParams, status.ProvidersResult),
    "indwell/models": Method("in", views.ModelsParams, views.ModelsResult),
    "indwell/setModel": Method("in", views.SetModelParams, views.SetModelResult),
    "indwell/skills": Method("in", SkillsParams, SkillsResult),
    "indwell/mcp": Method("in", status.McpParams, status.McpResult),
    "indwell/login": Method("in", views.LoginParams, views.LoginResult),
    "indwell/events": Method("in", views.EventsParams, views.EventsResult),
    "indwell/detach": Method("in", context.DetachParams, context.DetachResult),
    "indwell/context": Method("in", context.ContextParams, context.ContextResult),
    "indwell/plan": Method("in", views.PlanParams, views.PlanResult),
    "indwell/tasks": Method("in", status.TasksParams, status.TasksResult),
    "indwell/commands": Method("in", status.CommandsParams, status.CommandsResult),
    "indwell/apply": Method("in", documents.ApplyParams, documents.ApplyResult),
    "indwell/changes": Method("in", documents.ChangesParams, documents.ChangesResult),
    "indwell/didChangeEditorModels": Method("in", status.DidChangeEditorModelsParams, None),
    "indwell/modelPieces": Method("in", status.ModelPiecesParams, None),
    "indwell/event": Method("out", EventParams, None),
    "indwell/permission": Method("out", PermissionParams, PermissionResult),
    "indwell/ask": Method("out", AskParams, AskResult),
    "indwell/firstRun": Method("out", status.FirstRunParams, status.FirstRunResult),
    "indwell/save": Method("out", SaveParams, SaveResult),
    "indwell/diagnostics": Method("out", context.DiagnosticsParams, context.DiagnosticsResult),
    "indwell/navigate": Method("out", context.NavigateParams, context.NavigateResult),
    "indwell/editorModels": Method("out", status.EditorModelsParams, status.EditorModelsResult),
    "indwell/complete": Method("out", status.CompleteParams, status.CompleteResult),
}

COMMANDS: Mapping[str, type | None] = {
    **dict.fromkeys(TASK_COMMANDS, TaskArguments),
    "indwell.accept": documents.VerdictArguments,
    "indwell.reject": documents.VerdictArguments,
    "indwell.undoVerdict": documents.UndoVerdictArguments,
    "indwell.cancel": CancelArguments,
    "indwell.newSession": NewSessionArguments,
    "indwell.compact": None,
    "indwell.continue": None,
    "indwell.commands": None,
    "indwell.explainRequest": None,
    "indwell.open": documents.OpenArguments,
    "indwell.resume": ResumeArguments,
    "indwell.fork": documents.ForkArguments,
    "indwell.rewind": documents.RewindArguments,
    "indwell.plan": views.PlanArguments,
    "indwell.effort": EffortArguments,
    "indwell.mode": ModeArguments,
    "indwell.trust": TrustArguments,
    "indwell.chat": ChatArguments,
    "indwell.send": SendArguments,
    "indwell.memory": MemoryArguments,
    "indwell.mcp": McpArguments,
    "indwell.tasks": TasksArguments,
    "indwell.commitMessage": CommitMessageArguments,
}
"""Every command with the type of its argument."""

NEEDED: Mapping[str, str] = {
    "indwell.accept": "that says which changes",
    "indwell.reject": "that says which changes",
    "indwell.open": "with `what`",
    "indwell.rewind": "with `turn`",
    "indwell.effort": "with `effort`",
    "indwell.mode": "with `mode`",
}
"""The required argument of each command that does nothing without one."""

EventJson: TypeAlias = Mapping[str, Any]


def event_json(event: Event) -> EventJson:
    """Return an event as JSON data."""
    plain: EventJson = msgspec.to_builtins(event)
    return plain
