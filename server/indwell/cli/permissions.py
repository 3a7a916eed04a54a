"""``indwell permissions``: what was allowed for always, and its end."""

from __future__ import annotations

import argparse

from indwell.errors import UserError


def permissions(options: argparse.Namespace) -> int:
    """Do it; 0 if it is done.

    Raises:
        UserError: It cannot be.
    """
    raise UserError("not built yet")
