"""Completes the rules for decoding into a type before two threads use the type."""

from __future__ import annotations

import threading
from typing import TypeVar

import msgspec

T = TypeVar("T")

# Reentrant, because Python can collect garbage, and so run other code, while a type is prepared.
_lock = threading.RLock()
_prepared: set[object] = set()


def prepared(type_: T) -> T:
    """Return a type for ``msgspec`` that any thread can decode into.

    At the first use of a class, ``msgspec`` attaches unfinished rules to the class and then fills
    in the rules field by field. Another thread that decodes into the same class meanwhile reads an
    empty rule, and the process ends with a segmentation fault. So all first uses take turns here. A
    type of plain values, such as ``dict[str, Any]``, needs no preparation.
    """
    if type_ not in _prepared:
        with _lock:
            msgspec.json.Decoder(type_)
            _prepared.add(type_)
    return type_
