"""Shortens, drops and summarises messages, so that a conversation fits the model's window."""
