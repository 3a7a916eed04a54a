"""What all typed messages of ours share: they are equal if their fields are, and can be shown."""

from __future__ import annotations

from typing import Any

import attrs


class Value:
    """Base of attrs classes made with ``eq=False, repr=False``.

    attrs writes those methods anew for each class, which takes 0.5 ms each of the time that an
    editor waits for us to start (measured on 46 classes).
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return isinstance(other, Value) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash((type(self), self._fields()))

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{one.name}={getattr(self, one.name)!r}" for one in self._attributes() if one.repr
        )
        return f"{type(self).__name__}({shown})"

    def _fields(self) -> tuple[object, ...]:
        return tuple(getattr(self, one.name) for one in self._attributes())

    @classmethod
    def _attributes(cls) -> tuple[attrs.Attribute[object], ...]:
        made_by_attrs: Any = cls  # each subclass is
        found: tuple[attrs.Attribute[object], ...] = attrs.fields(made_by_attrs)
        return found


class CommandArguments(Value):
    """Base of what a command takes: a name that it does not know is refused.

    A command may be called by a link or an old action, and what it does not know might be meant to
    change more than the command does (TRU-14).
    """

    __slots__ = ()
