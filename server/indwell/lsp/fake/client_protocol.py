"""The fake editor's side of the wire: pygls' own client, taught our methods."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import attrs
from pygls.protocol import LanguageServerProtocol

from indwell.lsp import protocol


class ClientProtocol(LanguageServerProtocol):
    """pygls' protocol with typed ``indwell/*`` messages.

    The server does not share it: a peer that is not our own loop shows what our loop sends.
    """

    @lru_cache  # noqa: B019 - one protocol a client, and pygls does the same
    def get_message_type(self, method: str) -> type[Any] | None:
        """The class of a whole message, standard or ours."""
        ours = protocol.METHODS.get(method)
        if ours is None:
            return super().get_message_type(method)
        return _message_class(method, ours.params, with_id=ours.result is not None)

    @lru_cache  # noqa: B019 - as above
    def get_result_type(self, method: str) -> type[Any] | None:
        """The class of a response, standard or ours."""
        ours = protocol.METHODS.get(method)
        if ours is None:
            return super().get_result_type(method)
        return _response_class(method, ours.result) if ours.result else None


_Id: Any = int | str


@lru_cache
def _message_class(method: str, params: type, *, with_id: bool) -> type[Any]:
    # No defaults but for params: the converter leaves out what has its default value.
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
