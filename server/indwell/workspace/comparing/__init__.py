"""Compares two or three texts: diff, minimal edits, merge."""
