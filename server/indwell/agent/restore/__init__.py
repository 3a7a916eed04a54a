"""Restores a session from its log."""
