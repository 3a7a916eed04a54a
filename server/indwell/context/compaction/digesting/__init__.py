"""Shortens old messages to the lines that are most likely to be needed."""
