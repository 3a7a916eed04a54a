"""Encodes JSON on one line, without characters that hide text or control the terminal."""

from __future__ import annotations

import json

import msgspec

from indwell.lazy_pattern import lazy_pattern

_ACTING = lazy_pattern(
    r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
"""Characters that JSON does not escape: controls, line ends, direction marks, hidden tags."""


def json_line(value: object) -> str:
    r"""Return ``value`` as JSON, with ``\u...`` for characters that control a terminal.

    In JSON, control characters occur only in strings, so they can be replaced in the text.
    """
    try:
        line = msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # the text has a lone surrogate, perhaps from a file name
        return json.dumps(msgspec.to_builtins(value))
    return _ACTING.sub(lambda found: json.dumps(found[0])[1:-1], line)
