"""What one kind of editor is like: what it declares, how it counts, how it takes edits. Data."""

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
    """How an editor treats ``workspace/applyEdit``, and how it tells of changes.

    Attributes:
        takes: Whether the editor applies edits; if not, it answers with ``refusal``.
        versions: Which versions of an edit it takes.
        refusal: How it answers when it did not apply an edit.
        reason: ``failureReason``, or the message of the error.
        answer: How it answers when it did apply an edit.
        heeds_cancel: It drops an edit that still waits when the server takes it back.
        confirms: It asks the user before each edit.
        transactional: It looks at all documents of an edit before it changes the first one.
        creates: It obeys ``create`` operations.
        clobbers: A ``create`` without options empties a file that exists (Neovim).
        whole: It tells the whole text with each change, not what changed.
        late: It gathers changes and tells them later: before it sends anything else, after it
            has answered an edit, and when ``Desk.tell`` is called. Neovim does so for 150 ms.
        one_ending: A buffer has one line ending throughout (VS Code).
        formats_on_save: It runs the formatter before it writes a file.
        formats_after_edit: It runs the formatter right after an edit of the server.
        reloads: Buffers without changes follow what happens on disk.
        chooses: It shows questions with buttons, and answers them.
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
        name: For people.
        capabilities: As in ``initialize``, without what the server has no use for.
        behaviour: What it does, whatever it declares.
        client: ``clientInfo.name`` and its version; None if it sends none.
    """

    name: str
    capabilities: Mapping[str, Any]
    behaviour: Behaviour = Behaviour()
    client: tuple[str, str] | None = None

    @property
    def encodings(self) -> tuple[str, ...]:
        """The position encodings that it offers; none means utf-16."""
        general = self.capabilities.get("general") or {}
        return tuple(general.get("positionEncodings") or ())

    @property
    def asks_for_lenses(self) -> bool:
        """Does it show code lenses?"""
        return "codeLens" in (self.capabilities.get("textDocument") or {})

    def offering(self, *encodings: str) -> Profile:
        """The same editor with other position encodings; without any it names none."""
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
        """The same editor with another behaviour in some things."""
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
