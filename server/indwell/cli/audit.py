"""``indwell audit``: what was asked, allowed and run in a session."""

from __future__ import annotations

import argparse

from indwell.errors import UserError


def audit(options: argparse.Namespace) -> int:
    """Do it; 0 if it is done.

    Raises:
        UserError: It cannot be.
    """
    raise UserError("not built yet")
