"""Shortens conversations so that they fit the model's context window."""
