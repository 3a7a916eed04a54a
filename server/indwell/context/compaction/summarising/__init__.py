"""Replaces old messages by a summary (H25)."""
