"""Attachments of the user's words: from the editor, from git, and by mentions."""
