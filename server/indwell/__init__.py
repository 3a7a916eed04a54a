"""Indwell: a coding agent that lives in the editor's language server."""

__version__ = "0.1.0"
