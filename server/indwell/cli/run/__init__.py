"""``indwell run``: runs a turn from the terminal, without an editor."""
