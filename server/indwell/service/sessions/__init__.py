"""The sessions that are open, and those that are stored."""
