"""The user's files in the editor: open documents, edits, and files on disk."""
