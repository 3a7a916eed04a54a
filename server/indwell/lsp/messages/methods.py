"""Defines Indwell's messages: ``indwell/*`` methods and the arguments of commands.

The converter, ``docs/protocol.md`` and the TypeScript types are made from the table ``METHODS`` or
checked against it. Field names are single words, so they are the same in Python and in messages.
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
    """One hunk of an edit in a question: the escaped name, position and lines."""

    id: str
    header: str
    text: str


class PermissionParams(Value, frozen=True):
    """Asks for a permission; ``detail`` is the exact command, or the diff of the edit.

    Attributes:
        id: The id of the question.
        title: The question on one line.
        detail: The complete text, with characters that could hide or reorder text as code points.
        reason: The reason why the user is asked.
        rule: The rule that ``session`` and ``always`` store, or empty if they are not offered.
        cwd: The folder in which a command would run.
        sandbox: A description of the sandbox for commands.
        more: A description of the access beyond the sandbox that a yes allows for this one call.
        why: The model's reason, which clients must show as the model's text.
        wanted: Whether the model itself asks for ``more``, which clients should show prominently.
        risky: The parts of a command that cause the question.
        hunks: The hunks of an edit with several hunks; the user can answer for each hunk.
        kind: The kind of permission.
        session: The id of the session whose turn asks, or empty if no turn asks.
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
    """The user's answer to a permission question; any other value counts as ``no``.

    With a yes, ``hunks`` names the hunks that are allowed once; if left out, all hunks are allowed.
    """

    answer: Answer
    hunks: tuple[str, ...] | None = None


class AskParams(Value, frozen=True):
    """A question to the user, which is answered with a line of text or with an option.

    Attributes:
        prompt: The question; if the model asks, only its visible text, at most 1,000 characters.
        placeholder: An example of an answer.
        by: The asker. A question of the model is never a permission question, and must not look
            like a permission question.
        options: Answers to choose from, one line each; the user may type another answer.
        session: The session whose turn asks, or empty if no turn asks.
        id: The id of the tool call that asks, as in ``toolStarted``, or empty if no call asks.
    """

    prompt: str
    placeholder: str = ""
    by: Literal["indwell", "model"] = "indwell"
    options: tuple[str, ...] = ()
    session: str = ""
    id: str = ""


class AskResult(Value, frozen=True):
    """The typed text, or the 0-based index of the chosen option; both null without an answer."""

    text: str | None = None
    chosen: int | None = None


class MemoryArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.memory``; all fields are optional.

    Attributes:
        scope: Whether the facts are about this workspace, or about the user in all workspaces.
    """

    scope: Literal["workspace", "user"] = "workspace"


class MemoryResult(Value, frozen=True):
    """The file with the facts: its URI, and whether the editor has opened the file."""

    uri: str
    path: str
    shown: bool


class CommitMessageArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.commitMessage``; all fields are optional.

    Attributes:
        uri: A folder of the repository; by default the first folder of the workspace.
        quiet: Whether the client shows the message itself, and gets problems as errors.
        wait: Whether to answer only when the message is written.
    """

    uri: str | None = None
    quiet: bool = False
    wait: bool = False


class CommitMessageResult(Value, frozen=True):
    """A message for a git commit.

    Attributes:
        message: The text of the message.
        staged: Whether the message describes the staged changes, not those of the working tree.
    """

    message: str
    staged: bool


class DidChangeSelectionParams(Value, frozen=True):
    """The user selected text; the server reads the text from the synchronised document."""

    uri: str
    version: int
    ranges: tuple[types.Range, ...]


class DidFocusParams(Value, frozen=True):
    """The document that has the focus now, or null."""

    uri: str | None = None


class DidChangeDiagnosticsParams(Value, frozen=True):
    """All problems of one document, from all servers; see ``DocumentDiagnostics``."""

    uri: str
    diagnostics: tuple[types.Diagnostic, ...]
    version: int | None = None
    sources: tuple[SourceDiagnostics, ...] = ()


class PromptParams(Value, frozen=True):
    """A prompt; ``session`` is an id, ``new``, or left out for the current session.

    ``mode`` applies to this turn only, and is the current mode if left out. ``mentions`` names
    files to attach: ``path``, ``path#L3`` or ``path#L1-20``, relative to the first folder;
    ``path/`` is the listing of a folder. With ``beside``, the current session does not change.
    """

    text: str
    session: str | None = None
    mode: Mode | None = None
    mentions: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    beside: bool = False


class SteerParams(Value, frozen=True):
    """A message for the running turn; ``session`` is an id, or left out for any session."""

    text: str
    session: str | None = None


class SteerResult(Value, frozen=True):
    """The turn that receives the message with its next model call.

    ``is_choice`` is true if the message only chose an option of a question, or is the line that the
    question asked for. ``is_answered`` is true if the message was a command that needs no turn,
    such as ``/tasks``: the turn's events contain the answer, and the model gets no message.
    """

    session: str
    turn: int
    delivered: bool
    is_choice: bool = False
    is_answered: bool = False


class QueueParams(Value, frozen=True):
    """Reads or changes the queue; ``seq`` is the number of the state that the client saw.

    ``id`` names the prompt to ``remove``, ``move`` (to the 0-based position ``to``) or ``edit`` (to
    ``text``).
    """

    action: Literal["list", "remove", "move", "edit", "hold", "resume"] = "list"
    seq: int | None = None
    id: str | None = None
    to: int | None = None
    text: str | None = None


class TurnResult(Value, frozen=True):
    """The end of a turn; ``draft`` is the user's text that never reached the model.

    A prompt that was removed from the queue ends as ``cancelled``, with turn 0 and no session.
    ``verified`` says how the changes are verified, or empty if the turn changed no file.
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

    SENTENCES = ("message", "verified")


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
    """The argument of ``indwell.fix`` and of similar commands; all fields are optional.

    Attributes:
        uri: The document; the focused document if left out.
        version: The document's version when the action was offered.
        range: The range of the task; the selection if left out.
        diagnostics: The problems in the range.
        text: The user's text, for ``refactor``, ``edit`` and ``ask``.
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
        effort: The reasoning effort from the next turn on; empty to let the model decide.
        session: An open session; if left out, the current session and all later sessions.
    """

    effort: Effort
    session: str | None = None


class ModeArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.mode``.

    Attributes:
        mode: The mode from the next tool call on.
        session: An open session; if left out, the current session and all later sessions.
    """

    mode: Mode
    session: str | None = None


class CancelArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.cancel``, which may be left out.

    Attributes:
        session: The session whose turn is stopped; by default the current session.
    """

    session: str | None = None


class NewSessionArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.newSession``, which may be left out.

    Attributes:
        inherit: The id of a session whose task the new session continues.
        keep: Whether a running turn continues beside the new session; otherwise the turn is
            stopped.
    """

    inherit: str = ""
    keep: bool = False


class ResumeArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.resume``; all fields are optional.

    Attributes:
        session: The session's id; if left out, the user is asked.
        model: One of the user's models, to replace the session's model.
        wait: Whether to answer only when the session is open.
        quiet: Whether a failure is only an error answer, and shows no message.
        keep: Whether a running turn continues beside the session; otherwise the turn is stopped.
        beside: Whether the session only opens, and the current session stays the current one. No
            turn is stopped then, and ``model`` is ignored.
    """

    session: str | None = None
    model: str | None = None
    wait: bool = False
    quiet: bool = False
    keep: bool = False
    beside: bool = False


class TrustArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.trust``; ``wait`` delays the answer until the user has decided."""

    wait: bool = False


class McpArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.mcp``: the fields of ``indwell/mcp``, and the field ``wait``."""

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
    """The argument of ``indwell.tasks``, with the fields of ``indwell/tasks``.

    Attributes:
        words: The text after ``/tasks`` in a prompt; empty to list the tasks.
        wait: Whether to answer when the command has been carried out, with its result.
    """

    words: str = ""
    wait: bool = False


class StartedResult(Value, frozen=True):
    """The immediate answer of a command: the session and turn that began, or the queued id."""

    session: str | None
    turn: int | None
    queued: str | None


class Method(NamedTuple):
    """One row of the table ``METHODS``; ``direction`` is seen from the server."""

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
    "indwell/demo": Method("in", status.DemoParams, status.DemoResult),
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
    "indwell.showLog": None,
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
"""For each command that needs an argument, the argument's name."""

EventJson: TypeAlias = Mapping[str, Any]


def event_json(event: Event) -> EventJson:
    """Return an event as JSON data."""
    plain: EventJson = msgspec.to_builtins(event)
    return plain
