"""Reads the capabilities in ``initialize``, and lists the server's. Pure; imports little.

``tests/wire/test_handshake.py`` keeps the names equal to the tables of ``methods``.

A missing capability is a hint, not proof: some editors do more than they declare.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

CHAT_FEATURES = ("completion", "documentLink", "documentSymbol", "foldingRange")
"""Requests that concern only chat documents, and are registered only for these if possible."""

CHAT_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "completion": {"triggerCharacters": ["@", "/", "#"], "resolveProvider": False},
    "documentLink": {"resolveProvider": False},
    "documentSymbol": {},
    "foldingRange": {},
}


_NUMBERS = "Neovim"


class ClientFeatures(msgspec.Struct, frozen=True):
    """The capabilities of the editor that change what the server sends.

    Attributes:
        progress: Whether the editor accepts work-done progress from the server.
        show_document: Whether the editor opens a document on request.
        configuration: Whether the editor answers ``workspace/configuration``.
        watches_files: Whether the editor reports changed files of a folder on request.
        create_files: Whether a workspace edit may create files.
        delete_files: Whether a workspace edit may delete files.
        annotations: Whether the editor shows change annotations.
        refreshes_lenses: Whether the editor reads code lenses again on request.
        text_documents: Whether the editor asks for the texts of virtual documents (LSP 3.18).
        dynamic: The members of ``CHAT_FEATURES`` that can be registered for some documents.
        says_encoding: Whether the editor names its position encodings, so that positions are
            reliable.
        is_restricted: Whether the editor itself does not trust the workspace.
        claims_trust: Whether the editor says that the user trusts the workspace. The claim alone
            counts for nothing, because a folder can influence the options of many editors (TRU-11,
            TRU-12); see ``Composition.editor_asks_trust``.
        numbers: Whether a digit and Enter answer the editor's questions, although the user may have
            typed both for a file (Neovim without Indwell's plugin).
        experimental: Names of ``capabilities.experimental.indwell`` that are on.
    """

    progress: bool = False
    show_document: bool = False
    configuration: bool = False
    watches_files: bool = False
    create_files: bool = False
    delete_files: bool = False
    annotations: bool = False
    refreshes_lenses: bool = False
    text_documents: bool = False
    dynamic: frozenset[str] = frozenset()
    says_encoding: bool = False
    is_restricted: bool = False
    claims_trust: bool = False
    numbers: bool = False
    experimental: frozenset[str] = frozenset()

    def has(self, name: str) -> bool:
        """Return whether the client has this extension; see the table in ``docs/protocol.md``."""
        return name in self.experimental


def features_of(capabilities: Mapping[str, Any], client: str = "") -> ClientFeatures:
    """Read the capabilities of ``initialize``; values of impossible types are ignored.

    ``client`` is the editor's name.
    """
    window = _table(capabilities, "window")
    watching = _table(_table(capabilities, "workspace"), "didChangeWatchedFiles")
    edits = _table(_table(capabilities, "workspace"), "workspaceEdit")
    operations = edits.get("resourceOperations")
    ours = _table(_table(capabilities, "experimental"), "indwell")
    return ClientFeatures(
        progress=window.get("workDoneProgress") is True,
        show_document=_table(window, "showDocument").get("support") is True,
        configuration=_table(capabilities, "workspace").get("configuration") is True,
        watches_files=watching.get("dynamicRegistration") is True
        and watching.get("relativePatternSupport") is True,
        create_files=isinstance(operations, list) and "create" in operations,
        delete_files=isinstance(operations, list) and "delete" in operations,
        annotations=isinstance(edits.get("changeAnnotationSupport"), Mapping),
        text_documents=has_text_documents(capabilities),
        refreshes_lenses=_table(_table(capabilities, "workspace"), "codeLens").get("refreshSupport")
        is True,
        dynamic=dynamic_chat_features(capabilities),
        says_encoding=names_encodings(capabilities),
        numbers=client == _NUMBERS and ours.get("words") is not True,
        is_restricted="trusted" in ours and ours["trusted"] is not True,
        claims_trust=ours.get("trusted") is True,
        experimental=frozenset(
            name for name, on in ours.items() if on is True and name != "trusted"
        ),
    )


def dynamic_chat_features(capabilities: Mapping[str, Any]) -> frozenset[str]:
    """Return which of ``CHAT_FEATURES`` the editor lets us register for some documents only."""
    known = _table(capabilities, "textDocument")
    return frozenset(
        name for name in CHAT_FEATURES if _table(known, name).get("dynamicRegistration") is True
    )


def has_text_documents(capabilities: Mapping[str, Any]) -> bool:
    """Return whether the editor asks for ``workspace/textDocumentContent``."""
    workspace = _table(capabilities, "workspace")
    return isinstance(workspace.get("textDocumentContent"), Mapping)


def names_encodings(capabilities: Mapping[str, Any]) -> bool:
    """Return whether the editor names position encodings; others may not count utf-16."""
    return bool(_table(capabilities, "general").get("positionEncodings"))


def _table(parent: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = parent.get(name)
    return value if isinstance(value, Mapping) else {}


ACTION_KINDS = ("quickfix.indwell", "refactor.indwell", "source.indwell")

VIRTUAL_SCHEMES = ("indwell-base", "indwell-diff", "indwell-request", "indwell-transcript")


class ActionOffer(NamedTuple):
    """One code action: its title, command and kind, and whether the user must type text."""

    title: str
    command: str
    kind: str
    needs_words: bool = False


_QUICKFIX, _REFACTOR, _SOURCE = ACTION_KINDS
FIX_ALL = ActionOffer("Fix all problems in this file", "indwell.fixAll", _SOURCE)
TASK_OFFERS = (
    ActionOffer("Fix this", "indwell.fix", _QUICKFIX),
    ActionOffer("Explain this", "indwell.explain", _SOURCE),
    ActionOffer("Document this", "indwell.document", _REFACTOR),
    ActionOffer("Write tests for this", "indwell.test", _SOURCE),
    ActionOffer("Refactor this…", "indwell.refactor", _REFACTOR),
    ActionOffer("Ask about this…", "indwell.ask", _SOURCE, needs_words=True),
)
"""The tasks for a range, in the order of the menu; ``prompt.system`` has the text of each."""

TASK_COMMANDS = (
    TASK_OFFERS[0].command,
    FIX_ALL.command,
    *(one.command for one in TASK_OFFERS[1:]),
    # the command is for editors with a field at the selection, and no menu offers it
    "indwell.edit",
)
COMMAND_NAMES = (
    *TASK_COMMANDS,
    "indwell.accept",
    "indwell.reject",
    "indwell.undoVerdict",
    "indwell.cancel",
    "indwell.newSession",
    "indwell.compact",
    "indwell.continue",
    "indwell.commands",
    "indwell.explainRequest",
    "indwell.open",
    "indwell.showLog",
    "indwell.resume",
    "indwell.fork",
    "indwell.rewind",
    "indwell.plan",
    "indwell.effort",
    "indwell.mode",
    "indwell.trust",
    "indwell.chat",
    "indwell.send",
    "indwell.memory",
    "indwell.mcp",
    "indwell.tasks",
    "indwell.commitMessage",
)

METHOD_NAMES = (
    "indwell/apply",
    "indwell/ask",
    "indwell/changes",
    "indwell/commands",
    "indwell/complete",
    "indwell/context",
    "indwell/delete",
    "indwell/demo",
    "indwell/detach",
    "indwell/diagnostics",
    "indwell/didChangeDiagnostics",
    "indwell/didChangeEditorModels",
    "indwell/didChangeSelection",
    "indwell/didFocus",
    "indwell/editorModels",
    "indwell/event",
    "indwell/events",
    "indwell/firstRun",
    "indwell/login",
    "indwell/mcp",
    "indwell/modelPieces",
    "indwell/models",
    "indwell/navigate",
    "indwell/permission",
    "indwell/plan",
    "indwell/prompt",
    "indwell/providers",
    "indwell/queue",
    "indwell/rename",
    "indwell/save",
    "indwell/session",
    "indwell/sessions",
    "indwell/setModel",
    "indwell/skills",
    "indwell/status",
    "indwell/steer",
    "indwell/tasks",
)
