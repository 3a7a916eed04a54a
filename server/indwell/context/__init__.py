"""Manages conversations and builds requests to the model, in pure functions."""
