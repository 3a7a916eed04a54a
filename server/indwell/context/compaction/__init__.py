"""Keeping a conversation inside the window: what is shortened, folded or summarised, and when."""
