"""Reads and changes the user's files in the editor: documents, edits, files on disk."""
