"""Encodes a line of JSON so that no character hides text or controls the terminal."""

from __future__ import annotations

import json

import msgspec

from indwell.lazy_pattern import lazy_pattern

_ACTING = lazy_pattern(
    r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
"""Controls that JSON does not escape by itself, ends of lines to some readers (U+2028 and
U+2029), marks that turn text around, invisible tags."""


def json_line(value: object) -> str:
    r"""``value`` as JSON; what acts on a terminal stands as ``\u...``, which means the same.

    In JSON such a character can only stand in a string, so the text may be changed as it is.
    """
    try:
        line = msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # half of a character, in a file's name perhaps
        return json.dumps(msgspec.to_builtins(value))
    return _ACTING.sub(lambda found: json.dumps(found[0])[1:-1], line)
