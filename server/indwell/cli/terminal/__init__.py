"""Writes to the terminal, and reads from it."""
