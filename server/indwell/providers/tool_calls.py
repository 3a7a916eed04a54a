"""Tool calls put together from the pieces that a stream brings (H40); pure.

Endpoints differ: an index may be missing or used again for the next call, the name may come in
every piece, ids may be missing or the same, arguments may be an object instead of its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from indwell.messages import ToolCall

UNNAMED = "unnamed"  # no tool's name; the answer to such a call tells the model so


class CallDelta(msgspec.Struct, frozen=True):
    """One piece of a call; whatever the endpoint left out is None or empty."""

    index: int | None = None
    id: str = ""
    name: str = ""
    arguments: str = ""


class _Call:
    """A call as far as it has come."""

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.pieces: list[str] = []

    @property
    def arguments(self) -> str:
        return mended("".join(self.pieces))


class CallAssembler:
    """Takes the pieces of one reply in the order they came, and gives the calls."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []

    @property
    def begun(self) -> bool:
        """Whether any piece of a call has come."""
        return bool(self._calls)

    def add(self, delta: CallDelta) -> str | None:
        """Take one piece; the name of the call if this piece is the first that names it."""
        call = self._call_of(delta)
        if call is None:
            call = _Call(delta.index)
            self._calls.append(call)
        named_before = bool(call.name)
        call.index = delta.index if call.index is None else call.index
        call.id = call.id or delta.id
        call.name = call.name or delta.name
        if delta.arguments:
            call.pieces.append(delta.arguments)
        return call.name if call.name and not named_before else None

    def calls(self) -> tuple[ToolCall, ...]:
        """The calls in the order they began, each with an id of its own and JSON arguments."""
        taken = {call.id for call in self._calls}
        seen: set[str] = set()
        whole: list[ToolCall] = []
        for number, call in enumerate(self._calls):
            if not (call.id or call.name or call.pieces):
                continue
            id_ = call.id
            if not id_ or id_ in seen:
                id_ = _free_id(number, taken | seen)
            seen.add(id_)
            arguments = call.arguments
            whole.append(
                ToolCall(id_, call.name or UNNAMED, arguments if arguments.strip() else "{}")
            )
        return tuple(whole)

    def _call_of(self, delta: CallDelta) -> _Call | None:
        """The call that a piece continues; None if it begins another."""
        if delta.index is None:
            same_id = [call for call in self._calls if delta.id and call.id == delta.id]
            candidates = same_id or self._calls
        else:
            candidates = [call for call in self._calls if call.index == delta.index]
            candidates = candidates or [call for call in self._calls if _lacks_index(call, delta)]
        if not candidates:
            return None
        call = candidates[-1]
        return None if _begins_another(call, delta) else call


def mended(text: str) -> str:
    """``text`` with the halves of characters that two pieces brought made whole.

    A server that cuts by UTF-16 sends an emoji as two escapes in two pieces, and a half alone
    cannot be encoded; one without its partner becomes the replacement character.
    """
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def delta_of(piece: Mapping[str, Any]) -> CallDelta:
    """A piece as the endpoint sent it; what has an impossible type counts as left out."""
    function = piece.get("function")
    if not isinstance(function, Mapping):
        function = {}
    index, id_, name = piece.get("index"), piece.get("id"), function.get("name")
    arguments = function.get("arguments")
    if arguments is None:
        arguments = ""
    elif not isinstance(arguments, str):
        arguments = msgspec.json.encode(arguments).decode()
    return CallDelta(
        index=index if isinstance(index, int) else None,
        id=id_ if isinstance(id_, str) else "",
        name=name if isinstance(name, str) else "",
        arguments=arguments,
    )


def _lacks_index(call: _Call, delta: CallDelta) -> bool:
    """Whether a piece with an index goes on with a call that began without one."""
    return call.index is None and (delta.id == call.id if delta.id else not delta.name)


def _begins_another(call: _Call, delta: CallDelta) -> bool:
    if delta.id and call.id and delta.id != call.id:
        return True
    if delta.name and call.name and delta.name != call.name:
        return True
    # The same name again, and a second object after a whole one: two objects in a row are never
    # JSON, so this is the next call of the same tool at a used index.
    repeats = bool(delta.name) and delta.name == call.name and not (delta.id and call.id)
    return repeats and delta.arguments.lstrip().startswith("{") and _is_whole(call.arguments)


def _is_whole(arguments: str) -> bool:
    try:
        msgspec.json.decode(arguments, type=msgspec.Raw)
    except msgspec.DecodeError:
        return False
    return True


def _free_id(number: int, taken: set[str]) -> str:
    while (id_ := f"call_{number}") in taken:
        number += 1
    return id_
