"""The user's files as the editor has them: open documents, edits, and files on disk."""
