"""Manages conversations and builds requests, in pure functions."""
