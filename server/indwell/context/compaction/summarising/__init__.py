"""Replaces old messages with a summary."""
