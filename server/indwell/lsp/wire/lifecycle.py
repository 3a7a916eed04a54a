"""The states of a connection: before ``initialize``, open, after ``shutdown``. Pure.

LSP 3.17, "Server lifecycle"; cases LSP-08, LSP-09, LSP-10.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from indwell.lsp.wire.envelope import (
    INVALID_REQUEST,
    NOT_INITIALIZED,
    Incoming,
    Invalid,
    Notification,
    Response,
    RpcRequest,
)

Phase: TypeAlias = Literal["unopened", "open", "shut"]


class Take(msgspec.Struct, frozen=True):
    """The message is to be handled; ``phase`` applies from now on."""

    phase: Phase


class Refuse(msgspec.Struct, frozen=True):
    """The message gets an error."""

    error: Invalid


class Drop(msgspec.Struct, frozen=True):
    """Nothing happens."""


class Leave(msgspec.Struct, frozen=True):
    """The process ends with this exit code: 0 only after ``shutdown``."""

    code: int


Verdict: TypeAlias = Take | Refuse | Drop | Leave


def verdict(phase: Phase, message: Incoming) -> Verdict:
    """Decide what happens to ``message`` in this phase."""
    match message:
        case Invalid():
            return Refuse(message)
        case Response():
            return Take(phase) if phase == "open" else Drop()
        case Notification(method="exit"):
            return Leave(0 if phase == "shut" else 1)
        case Notification():
            return Take(phase) if phase == "open" else Drop()
        case RpcRequest(method="initialize"):
            if phase == "unopened":
                return Take("open")
            return Refuse(Invalid(message.id, INVALID_REQUEST, "initialize was sent already"))
        case RpcRequest():
            if phase == "unopened":
                return Refuse(Invalid(message.id, NOT_INITIALIZED, "initialize comes first"))
            if phase == "shut":
                return Refuse(Invalid(message.id, INVALID_REQUEST, "the server was shut down"))
            return Take("shut" if message.method == "shutdown" else phase)
