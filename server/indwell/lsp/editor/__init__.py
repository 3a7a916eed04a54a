"""Sends requests to the editor, and messages that the editor shows to the user."""
