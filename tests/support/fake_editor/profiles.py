"""Describes one kind of editor: capabilities, position encodings, handling of edits. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

Versions: TypeAlias = Literal["exact", "not older", "any"]
"""Edits of which version are taken: of the buffer's own; also of a later one; of any."""

Refusal: TypeAlias = Literal["false", "true", "error"]
"""How an edit that was not applied is answered: ``applied: false``, a lie, a JSON-RPC error."""

Answer: TypeAlias = Literal["result", "null", "error", "never"]
"""How an edit that was applied is answered."""


class Behaviour(msgspec.Struct, frozen=True):
    """The way in which an editor handles ``workspace/applyEdit`` and reports changes.

    Attributes:
        takes: Whether the editor applies edits; otherwise it answers with ``refusal``.
        versions: The document versions that an edit may have.
        refusal: The answer to an edit that the editor did not apply.
        reason: ``failureReason``, or the message of the error.
        answer: The answer to an edit that the editor applied.
        heeds_cancel: Whether the editor drops a waiting edit when the server cancels the request.
        confirms: Whether the editor asks the user before each edit.
        transactional: Whether the editor checks all documents of an edit before it changes the
            first document.
        creates: Whether the editor obeys ``create`` operations.
        clobbers: Whether a ``create`` without options empties an existing file (Neovim).
        whole: Whether the editor sends the whole text with each change.
        late: Whether the editor collects changes. The editor sends them before any other message,
            after it has answered an edit, and when ``Desk.tell`` is called. Neovim collects for 150
            ms.
        one_ending: Whether all lines of a buffer have the same line ending (VS Code).
        formats_on_save: Whether the editor runs the formatter before it writes a file.
        formats_after_edit: Whether the editor runs the formatter right after an edit of the server.
        reloads: Whether buffers without changes follow changes on disk.
        chooses: Whether the editor shows questions with buttons.
    """

    takes: bool = True
    versions: Versions = "exact"
    refusal: Refusal = "false"
    reason: str = "the document has changed"
    answer: Answer = "result"
    heeds_cancel: bool = False
    confirms: bool = False
    transactional: bool = True
    creates: bool = True
    clobbers: bool = False
    whole: bool = False
    late: bool = False
    one_ending: bool = False
    formats_on_save: bool = False
    formats_after_edit: bool = False
    reloads: bool = False
    chooses: bool = True


class Profile(msgspec.Struct, frozen=True):
    """One kind of editor.

    Attributes:
        name: The name in reports.
        capabilities: The capabilities in ``initialize`` that the server uses.
        behaviour: The editor's behaviour, which may differ from its capabilities.
        client: ``clientInfo.name`` and its version; None if the editor sends none.
    """

    name: str
    capabilities: Mapping[str, Any]
    behaviour: Behaviour = Behaviour()
    client: tuple[str, str] | None = None

    @property
    def encodings(self) -> tuple[str, ...]:
        """Return the position encodings that the editor offers; none means utf-16."""
        general = self.capabilities.get("general") or {}
        return tuple(general.get("positionEncodings") or ())

    @property
    def asks_for_lenses(self) -> bool:
        """Return whether the editor shows code lenses."""
        return "codeLens" in (self.capabilities.get("textDocument") or {})

    def offering(self, *encodings: str) -> Profile:
        """Return the same editor with these position encodings, or with none."""
        general = {
            key: value
            for key, value in self.capabilities.get("general", {}).items()
            if key != "positionEncodings"
        }
        if encodings:
            general["positionEncodings"] = list(encodings)
        capabilities = {**self.capabilities, "general": general}
        return msgspec.structs.replace(self, capabilities=capabilities)

    def behaving(self, **changed: Any) -> Profile:
        """Return the same editor with parts of its behaviour changed."""
        behaviour = msgspec.structs.replace(self.behaviour, **changed)
        return msgspec.structs.replace(self, behaviour=behaviour)


PLAIN = Profile(
    name="plain",
    capabilities={
        "general": {"positionEncodings": ["utf-16"]},
        "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
        "window": {"workDoneProgress": True, "showDocument": {"support": True}},
    },
    behaviour=Behaviour(heeds_cancel=True),
)
"""An editor that declares what it does, and does what it declares."""
