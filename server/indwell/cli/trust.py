"""``indwell trust``: trusts a folder as it is, or no longer."""

from __future__ import annotations

import argparse

from indwell.errors import UserError


def trust(options: argparse.Namespace) -> int:
    """Do it; 0 if it is done.

    Raises:
        UserError: It cannot be.
    """
    raise UserError("not built yet")
