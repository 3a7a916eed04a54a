"""``--json`` of a command that has actions."""

from __future__ import annotations

import argparse
from collections.abc import Iterable


def json_anywhere(
    command: argparse.ArgumentParser, actions: Iterable[argparse.ArgumentParser]
) -> None:
    """``--json`` before an action and behind it; said once is enough."""
    words = "print one JSON object"
    command.add_argument("--json", action="store_true", help=words)
    for one in actions:  # without a default of its own, which would undo what stood before it
        one.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=words)
