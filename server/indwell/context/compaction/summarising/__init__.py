"""Replaces old messages by a summary: what it covers, who writes it, what stays beside it (H25)."""
