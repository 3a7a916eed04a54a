"""Tool calls put together from the pieces that a stream brings (H40); pure.

Endpoints differ: an index may be missing or used again for the next call, the name may come in
every piece or in pieces, ids may be missing or the same, arguments may be an object instead of its
text. Nothing is guessed: two objects in one call stay one text that is no JSON, as the tool says.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from indwell.messages import ToolCall
from indwell.providers.dialect import CALL_ID_LIMIT

ARGUMENTS_LIMIT = 1_000_000  # characters of one call; a file to write is smaller
CALLS_LIMIT = 1_000  # in one reply
_INDEX_CHARS = 6  # of an index that came as text
UNNAMED = "unnamed"  # no tool's name; the answer to such a call tells the model so


class CallDelta(msgspec.Struct, frozen=True):
    """One piece of a call; whatever the endpoint left out is None or empty."""

    index: int | None = None
    id: str = ""
    name: str = ""
    arguments: str = ""
    extra: str = ""


class _Call:
    """A call as far as it has come."""

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.extra = ""
        self.pieces: list[str] = []
        self.n_chars = 0
        self._depth = _Depth()
        self._n_looked = 0

    @property
    def arguments(self) -> str:
        return mended("".join(self.pieces))

    @property
    def is_whole(self) -> bool:
        """Whether the arguments are JSON already; each character is looked at once or twice."""
        for piece in self.pieces[self._n_looked :]:
            self._depth.add(piece)
        self._n_looked = len(self.pieces)
        if not self._depth.is_closed:
            return False
        # Something closed that is no JSON stays none, whatever follows.
        self._depth.is_broken = not _is_json(self.arguments)
        return not self._depth.is_broken


class CallAssembler:
    """Takes the pieces of one reply in the order they came, and gives the calls.

    Args:
        id_limit: Characters of an id that is kept; a longer one is replaced (LLM-28).

    Attributes:
        problem: Why no call of this reply may run; empty if all is well.
    """

    def __init__(self, *, id_limit: int = CALL_ID_LIMIT) -> None:
        self.problem = ""
        self._id_limit = id_limit
        self._calls: list[_Call] = []

    @property
    def begun(self) -> bool:
        """Whether any piece of a call has come."""
        return bool(self._calls)

    def add(self, delta: CallDelta) -> str | None:
        """Take one piece; the name of the call if this piece is the first that names it.

        After a ``problem`` nothing more is taken, so that memory and work stay bounded.
        """
        if self.problem:
            return None
        call = self._call_of(delta)
        if call is None and len(self._calls) == CALLS_LIMIT:
            self.problem = f"it held over {CALLS_LIMIT:,} tool calls, which were dropped"
            return None
        if call is None:
            call = _Call(delta.index)
            self._calls.append(call)
        named_before = bool(call.name)
        call.index = delta.index if call.index is None else call.index
        call.id = call.id or delta.id
        call.name = _named(call, delta)
        call.extra = delta.extra or call.extra
        if delta.arguments:
            call.pieces.append(delta.arguments)
            call.n_chars += len(delta.arguments)
        if call.n_chars > ARGUMENTS_LIMIT:
            call.pieces.clear()
            self.problem = (
                f"the arguments of {call.name or UNNAMED!r} were over {ARGUMENTS_LIMIT:,} "
                "characters, and its tool calls were dropped"
            )
        return call.name if call.name and not named_before else None

    def calls(self, *, taken: Collection[str] = ()) -> tuple[ToolCall, ...]:
        """The calls in the order they began, each with an id of its own, no arguments as ``{}``.

        Args:
            taken: Ids of calls in earlier replies; some servers begin to count again each time.
        """
        seen = set(taken)
        taken = {mended(call.id) for call in self._calls} | seen
        whole: list[ToolCall] = []
        for number, call in enumerate(self._calls):
            if not (call.id or call.name or call.pieces):
                continue
            # Ids that differ only in what cannot be encoded are one id everywhere else.
            id_ = mended(call.id)
            if not id_ or id_ in seen or len(id_) > self._id_limit:
                id_ = _free_id(number, taken | seen)
            seen.add(id_)
            arguments = call.arguments
            arguments = arguments if arguments.strip() else "{}"
            whole.append(ToolCall(id_, call.name or UNNAMED, arguments, call.extra))
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
        try:
            arguments = msgspec.json.encode(arguments).decode()
        except (RecursionError, UnicodeEncodeError):
            arguments = ""
    extra = piece.get("extra_content")
    return CallDelta(
        index=_index_of(index),
        id=id_ if isinstance(id_, str) else "",
        name=mended(name) if isinstance(name, str) else "",
        arguments=arguments,
        extra=_extra_of(extra) if isinstance(extra, Mapping) else "",
    )


def _index_of(index: object) -> int | None:
    """A number, also one that came as text or with a point; anything else was left out."""
    if isinstance(index, int) and not isinstance(index, bool):
        return index
    if isinstance(index, float) and index.is_integer():
        return int(index)
    if isinstance(index, str) and len(index) <= _INDEX_CHARS and index.isdecimal():
        return int(index)
    return None


def _extra_of(extra: Mapping[str, Any]) -> str:
    try:
        text = msgspec.json.encode(extra).decode()
    except (RecursionError, UnicodeEncodeError):
        return ""
    return text if len(text) <= ARGUMENTS_LIMIT else ""


def _named(call: _Call, delta: CallDelta) -> str:
    """The call's name with what this piece adds: it may come whole each time, or in pieces."""
    if not call.name or not delta.name or delta.name == call.name:
        return call.name or delta.name
    return delta.name if delta.name.startswith(call.name) else call.name + delta.name


def _lacks_index(call: _Call, delta: CallDelta) -> bool:
    """Whether a piece with an index goes on with a call that began without one."""
    return call.index is None and (delta.id == call.id if delta.id else not delta.name)


def _begins_another(call: _Call, delta: CallDelta) -> bool:
    if delta.id and call.id and delta.id != call.id:
        return True
    if delta.name and call.name and delta.name != call.name and not _goes_on(call, delta):
        return True
    # The same name again, and a second object after a whole one: two objects in a row are never
    # JSON, so this is the next call of the same tool at a used index.
    repeats = bool(delta.name) and delta.name == call.name and not (delta.id and call.id)
    return repeats and delta.arguments.lstrip().startswith("{") and call.is_whole


def _goes_on(call: _Call, delta: CallDelta) -> bool:
    """Whether another name is more of the same: the place is the same, and no arguments came."""
    same_place = delta.index is not None and delta.index == call.index
    return same_place and not call.pieces and (not delta.id or delta.id == call.id)


class _Depth:
    """How many brackets are open, as far as a text has come; words in quotes do not count."""

    def __init__(self) -> None:
        self.is_broken = False
        self._open = 0
        self._in_words = self._escaped = self._begun = False

    @property
    def is_closed(self) -> bool:
        return self._begun and not self._open and not self.is_broken

    def add(self, text: str) -> None:
        for sign in text:
            if self._escaped:
                self._escaped = False
            elif sign == "\\":
                self._escaped = self._in_words
            elif sign == '"':
                self._in_words = not self._in_words
            elif not self._in_words and sign in "{[":
                self._begun = True
                self._open += 1
            elif not self._in_words and sign in "]}":
                self._open -= 1


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _free_id(number: int, taken: set[str]) -> str:
    while (id_ := f"call_{number}") in taken:
        number += 1
    return id_
