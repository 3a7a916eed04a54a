"""Replaces old messages by the lines that are most likely to be needed (H19)."""
