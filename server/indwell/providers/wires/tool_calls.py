"""Assembles tool calls from the parts of a stream (H40). Pure.

Endpoints differ. An index may be missing or reused for the next call. The name may come in every
part of the stream, or split over several. Ids may be missing or equal. Arguments may be an object
instead of a text. Nothing is guessed: two objects in one call stay one text that is not JSON, and
the tool reports the error.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from indwell.messages import ToolCall
from indwell.providers.wires.dialect import CALL_ID_LIMIT

# The unit is characters of one call; the limit is larger than most files to write.
ARGUMENTS_LIMIT = 1_000_000
# The unit is characters of all calls of one reply; the limit equals that of the reply's text.
CALLS_CHARACTERS = 2_000_000
CALLS_LIMIT = 256  # One reply has at most 256 calls; the dispatcher runs 64.
NAME_LIMIT = 128  # The unit is characters of a tool's name; OpenAI accepts 64.
# At most this many characters of one reply are checked for complete JSON, which takes 4 ms.
_LOOKED_AT = 4_000_000
_INDEX_CHARS = 6  # The unit is characters of an index that came as text.
_CLOSING = ("}", "]")
UNNAMED = "unnamed"  # A call without a name gets this name; no tool has this name.


class CallDelta(msgspec.Struct, frozen=True):
    """One part of a call; fields that the endpoint omitted are None or empty."""

    index: int | None = None
    id: str = ""
    name: str = ""
    arguments: str = ""
    extra: str = ""


class _Call:
    """The received part of a call."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.index: int | None = None
        self.id = ""
        self.name = ""
        self.extra = ""
        self.text = GrowingText()
        self.n_chars = 0
        self.last_sign = ""

    @property
    def arguments(self) -> str:
        return joined_surrogates(self.text.joined)

    def take(self, piece: str) -> None:
        """Add a part of the arguments."""
        self.text.add(piece)
        self.n_chars += len(piece)
        if not piece.isspace():
            self.last_sign = piece.rstrip()[-1]


class CallAssembler:
    """Assembles the calls of one reply from the streamed parts.

    Args:
        id_limit: Characters of the longest id that is kept; a longer id is replaced (LLM-28).

    Attributes:
        problem: Why no call of this reply may run, or empty if the calls may run.
        n_characters: Characters of all arguments, ids and extras so far.
    """

    def __init__(self, *, id_limit: int = CALL_ID_LIMIT) -> None:
        self.problem = ""
        self.n_characters = 0
        self._id_limit = id_limit
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}  # The newest call, by index.
        self._by_id: dict[str, _Call] = {}
        self._n_looked_at = 0

    @property
    def begun(self) -> bool:
        """Return whether any part of a call has arrived."""
        return bool(self._calls)

    def n_before(self, index: int) -> int:
        """Return how many calls have a lower index."""
        return sum(call.index is not None and call.index < index for call in self._calls)

    def add(self, delta: CallDelta) -> str | None:
        """Add one part; return the call's name if this part is the first with the name.

        After a ``problem``, further parts are ignored, so that memory and time have a limit.
        """
        if self.problem:
            return None
        call = self._call_of(delta)
        if call is None and len(self._calls) == CALLS_LIMIT:
            self.problem = f"it held over {CALLS_LIMIT:,} tool calls, which were dropped"
            return None
        if call is None:
            call = _Call(len(self._calls))
            self._calls.append(call)
        named_before = bool(call.name)
        self._mark(call, delta)
        call.name = _named(call, delta)
        if delta.extra:
            call.extra = delta.extra
            self.n_characters += len(delta.extra)
        if delta.arguments:
            call.take(delta.arguments)
            self.n_characters += len(delta.arguments)
        if call.n_chars > ARGUMENTS_LIMIT:
            self._drop(f"of {call.name or UNNAMED!r} were over {ARGUMENTS_LIMIT:,}")
        elif self.n_characters > CALLS_CHARACTERS:
            self._drop(f"of its tool calls were over {CALLS_CHARACTERS:,}")
        return call.name if call.name and not named_before else None

    def calls(self, *, taken: Collection[str] = ()) -> tuple[ToolCall, ...]:
        """Return the calls in the order of their index, each with a unique id.

        Empty arguments become ``{}``.

        Args:
            taken: Ids of calls in earlier replies; some servers restart their numbering each time.
        """
        seen = set(taken)
        taken = {joined_surrogates(call.id) for call in self._calls} | seen
        whole: list[ToolCall] = []
        for number, call in enumerate(self._in_order()):
            if not (call.id or call.name or call.text):
                continue
            # Ids that only differ in characters that cannot be encoded would become equal later.
            id_ = joined_surrogates(call.id)
            if not id_ or id_ in seen or len(id_) > self._id_limit:
                id_ = _free_id(number, taken | seen)
            seen.add(id_)
            arguments = call.arguments
            arguments = arguments if arguments.strip() else "{}"
            whole.append(ToolCall(id_, call.name or UNNAMED, arguments, call.extra))
        return tuple(whole)

    def _in_order(self) -> Sequence[_Call]:
        """Return the calls in the order of their indexes, or of arrival if a call has no index."""
        if any(call.index is None or call.index < 0 for call in self._calls):
            return self._calls
        return sorted(self._calls, key=lambda call: (call.index or 0, call.number))

    def _call_of(self, delta: CallDelta) -> _Call | None:
        """Return the call that a part continues, or None if the part begins a new call."""
        if delta.index is None:
            call = self._by_id.get(delta.id) or (self._calls[-1] if self._calls else None)
        else:
            call = self._by_index.get(delta.index)
        if call is None and delta.index is not None:
            # The searches are few, because each ends with a new call or with an index for an old
            # call.
            lacking = (call for call in reversed(self._calls) if _lacks_index(call, delta))
            call = next(lacking, None)
        return None if call is None or self._begins_another(call, delta) else call

    def _mark(self, call: _Call, delta: CallDelta) -> None:
        """Store the index and id by which later parts find the call."""
        if call.index is None and delta.index is not None:
            call.index = delta.index
            self._by_index[delta.index] = call
        if delta.id and not call.id:
            call.id = delta.id
            self.n_characters += len(delta.id)  # LiteLLM puts thought signatures into the id.
            newest = self._by_id.get(delta.id)
            if newest is None or newest.number < call.number:
                self._by_id[delta.id] = call

    def _drop(self, what: str) -> None:
        for call in self._calls:
            call.text.clear()
        self.problem = f"the arguments {what} characters, and its tool calls were dropped"

    def _begins_another(self, call: _Call, delta: CallDelta) -> bool:
        if delta.id and call.id and delta.id != call.id:
            return True
        if delta.name and call.name and delta.name != call.name and not _goes_on(call, delta):
            return True
        # The same name with a new object after complete JSON means the next call of the same tool
        # at a used index.
        repeats = bool(delta.name) and delta.name == call.name and not (delta.id and call.id)
        return repeats and delta.arguments.lstrip().startswith("{") and self._is_whole(call)

    def _is_whole(self, call: _Call) -> bool:
        """Return whether the arguments are complete JSON; always False after too many checks."""
        if call.last_sign not in _CLOSING:
            return False
        self._n_looked_at += call.n_chars
        return self._n_looked_at <= _LOOKED_AT and is_json(call.arguments)


def joined_surrogates(text: str) -> str:
    """Join the surrogate pairs in ``text`` that were split between two pieces.

    A server that splits text by UTF-16 units may send an emoji as two surrogates in two pieces. A
    surrogate without its partner becomes the replacement character.
    """
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def is_json(text: str) -> bool:
    """Return whether ``text`` is one complete JSON value; 1 MB takes a millisecond."""
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def delta_of(piece: Mapping[str, Any]) -> CallDelta:
    """Convert a part as the endpoint sent it; a value of an impossible type counts as missing."""
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
        name=joined_surrogates(name[:NAME_LIMIT]) if isinstance(name, str) else "",
        arguments=arguments,
        extra=_extra_of(extra) if isinstance(extra, Mapping) else "",
    )


def _index_of(index: object) -> int | None:
    """Return an index, also from text or a float, or None for any other value."""
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
    """Return the call's name with this part added; the name may come whole or in parts."""
    if not call.name or not delta.name or delta.name == call.name:
        return call.name or delta.name
    if delta.name.startswith(call.name):
        return delta.name
    return (call.name + delta.name)[:NAME_LIMIT]


def _lacks_index(call: _Call, delta: CallDelta) -> bool:
    """Return whether a part with an index continues a call that began without an index."""
    return call.index is None and (delta.id == call.id if delta.id else not delta.name)


def _goes_on(call: _Call, delta: CallDelta) -> bool:
    """Return whether a part's name continues the call's name, because no arguments came yet."""
    same_place = delta.index is not None and delta.index == call.index
    return same_place and not call.text and (not delta.id or delta.id == call.id)


def _free_id(number: int, taken: set[str]) -> str:
    while (id_ := f"call_{number}") in taken:
        number += 1
    return id_


# The list keeps at most 4,096 parts; half a million delay every garbage collection by 30 ms.
_FEW = 4_096


class GrowingText:
    """Collects parts of a text; the object is false until a part has arrived."""

    __slots__ = ("_pieces",)

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def __bool__(self) -> bool:
        """Return whether any part has arrived."""
        return bool(self._pieces)

    @property
    def joined(self) -> str:
        """Return the whole text."""
        return "".join(self._pieces)

    def add(self, piece: str) -> None:
        """Add a part."""
        self._pieces.append(piece)
        if len(self._pieces) == _FEW:
            self._pieces = [self.joined]

    def clear(self) -> None:
        """Remove everything."""
        self._pieces.clear()
