"""Keeps a conversation inside the window of the model."""
