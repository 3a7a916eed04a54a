"""The terminal: its output and its input."""
