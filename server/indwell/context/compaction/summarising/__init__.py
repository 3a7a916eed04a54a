"""Replaces old messages by a summary: its range, its writer, the blocks that stay (H25)."""
