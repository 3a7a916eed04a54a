"""What the editor says it can do, from ``initialize``, as one frozen value. Pure.

A missing capability is a hint, not proof: editors exist that obey what they do not declare.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

CHAT_FEATURES = ("completion", "documentLink", "documentSymbol", "foldingRange")
"""What is asked about chat documents only: registered for those, where that can be."""

CHAT_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "completion": {"triggerCharacters": ["@", "/", "#"], "resolveProvider": False},
    "documentLink": {"resolveProvider": False},
    "documentSymbol": {},
    "foldingRange": {},
}


_NUMBERS = "Neovim"


class ClientFeatures(msgspec.Struct, frozen=True):
    """Capabilities that change what is sent.

    Attributes:
        progress: Takes server-made work-done progress.
        show_document: Opens a document when asked.
        configuration: Answers ``workspace/configuration``.
        watches_files: Tells of changed files of a folder, when asked to.
        create_files: Makes new files, as part of a workspace edit.
        delete_files: Deletes files so.
        annotations: Shows what a change is, and who wants it.
        refreshes_lenses: Asks for code lenses again when told to.
        text_documents: Asks for the texts of virtual documents (3.18).
        dynamic: Those of ``CHAT_FEATURES`` that can be registered for some documents.
        says_encoding: Names its position encodings, so it counts as it says.
        is_restricted: The editor itself does not trust the workspace; only this much is believed of
            what it says about trust, for clients fill such claims from the folder (TRU-11, TRU-12).
        numbers: A digit and Enter answer its questions, and they may be meant for a file (Neovim,
            without the lines of ours that ask for a word).
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
    numbers: bool = False
    experimental: frozenset[str] = frozenset()

    def has(self, name: str) -> bool:
        """Is one of our own extensions on: see the table in ``docs/protocol.md``."""
        return name in self.experimental


def features_of(capabilities: Mapping[str, Any], client: str = "") -> ClientFeatures:
    """Read the capabilities of ``initialize``; whatever has an impossible type is not there.

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
        experimental=frozenset(
            name for name, on in ours.items() if on is True and name != "trusted"
        ),
    )


def dynamic_chat_features(capabilities: Mapping[str, Any]) -> frozenset[str]:
    """Which of ``CHAT_FEATURES`` the editor lets us register for some documents only."""
    known = _table(capabilities, "textDocument")
    return frozenset(
        name for name in CHAT_FEATURES if _table(known, name).get("dynamicRegistration") is True
    )


def has_text_documents(capabilities: Mapping[str, Any]) -> bool:
    """Does the editor ask for ``workspace/textDocumentContent``?"""
    workspace = _table(capabilities, "workspace")
    return isinstance(workspace.get("textDocumentContent"), Mapping)


def names_encodings(capabilities: Mapping[str, Any]) -> bool:
    """Does the editor name position encodings? Of those that do not, not all count utf-16."""
    return bool(_table(capabilities, "general").get("positionEncodings"))


def _table(parent: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = parent.get(name)
    return value if isinstance(value, Mapping) else {}
