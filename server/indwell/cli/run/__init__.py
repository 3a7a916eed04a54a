"""``indwell run``: a turn from the terminal, without an editor."""
