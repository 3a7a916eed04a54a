"""Requests to the editor, and what it shows to the user."""
