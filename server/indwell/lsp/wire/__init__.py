"""Exchanges bytes and messages with the editor, and checks the editor's input."""
