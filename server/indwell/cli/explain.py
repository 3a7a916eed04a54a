"""``indwell permissions explain``: how a command would be decided on, and why."""

from __future__ import annotations

import argparse

from indwell.errors import UserError


def explain(options: argparse.Namespace) -> int:
    """Do it; 0 if it is done.

    Raises:
        UserError: It cannot be.
    """
    raise UserError("not built yet")
