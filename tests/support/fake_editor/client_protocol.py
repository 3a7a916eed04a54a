"""The fake editor's side of the protocol: pygls' client, extended by Indwell's methods."""

from __future__ import annotations

import asyncio
from functools import cache, lru_cache
from typing import Any

import attrs
from lsprotocol import types
from lsprotocol.converters import get_converter
from pygls.protocol import LanguageServerProtocol, default_converter

from indwell.lsp.messages import methods as protocol
from indwell.lsp.wire.conversion import teach_messages


class ClientProtocol(LanguageServerProtocol):
    """pygls' protocol with typed ``indwell/*`` messages.

    The server does not use this class; a separate implementation checks the server's messages.

    Attributes:
        heeds_cancel: Whether the client obeys ``$/cancelRequest``
    """

    heeds_cancel = True
    _is_silent = False

    def hang_up(self) -> None:
        """Drop the server's unanswered requests, and answer no more requests."""
        self._is_silent = True
        pending: list[object] = list(self._request_futures.values())
        for work in pending:
            if isinstance(work, asyncio.Task):  # Indwell's own futures are not tasks.
                work.cancel()

    def _send_handler_result(self, future: Any, *, msg_id: int | str) -> None:
        if self._is_silent:
            self._request_futures.pop(msg_id, None)
        else:
            super()._send_handler_result(future, msg_id=msg_id)

    def _handle_cancel_notification(self, msg_id: int | str) -> None:
        if self.heeds_cancel:
            super()._handle_cancel_notification(msg_id)

    @lru_cache  # noqa: B019 - one protocol a client, and pygls does the same
    def get_message_type(self, method: str) -> type[Any] | None:
        """Return the class of a whole message, standard or Indwell's."""
        ours = protocol.METHODS.get(method)
        if ours is None:
            return super().get_message_type(method)
        return _message_class(method, ours.params, with_id=ours.result is not None)

    @lru_cache  # noqa: B019 - as above
    def get_result_type(self, method: str) -> type[Any] | None:
        """Return the class of a response, standard or Indwell's."""
        ours = protocol.METHODS.get(method)
        if ours is None:
            return super().get_result_type(method)
        return _response_class(method, ours.result) if ours.result else None


_Id: Any = int | str


@lru_cache
def _message_class(method: str, params: type, *, with_id: bool) -> type[Any]:
    # Only params have a default, because the converter leaves out default values.
    fields: dict[str, Any] = {
        "method": attrs.field(type=str),
        "jsonrpc": attrs.field(type=str),
        "params": attrs.field(type=params, default=None),
    }
    if with_id:
        fields["id"] = attrs.field(type=_Id)
    return attrs.make_class(f"{_class_name(method)}Message", fields, kw_only=True)


@lru_cache
def _response_class(method: str, result: type) -> type[Any]:
    fields: dict[str, Any] = {
        "id": attrs.field(type=_Id),
        "jsonrpc": attrs.field(type=str),
        "result": attrs.field(type=result),
    }
    return attrs.make_class(f"{_class_name(method)}Response", fields, kw_only=True)


def _class_name(method: str) -> str:
    name = method.rsplit("/", 1)[-1]
    return name[0].upper() + name[1:]


@cache  # Creating a converter takes 40 ms.
def client_converter() -> Any:
    """Return pygls' converter, corrected: it must not read a code action as a command."""
    converter = default_converter()  # type: ignore[no-untyped-call]
    teach_messages(converter, omit_defaults=True)
    plain = plain_converter()

    def action_or_command(value: Any, _type: Any) -> Any:
        is_command = isinstance(value.get("command"), str)
        return plain.structure(value, types.Command if is_command else types.CodeAction)

    converter.register_structure_hook(types.Command | types.CodeAction, action_or_command)
    return converter


@cache
def plain_converter() -> Any:
    """Return lsprotocol's converter."""
    return get_converter()
