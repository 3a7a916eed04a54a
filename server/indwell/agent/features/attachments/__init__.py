"""Attaches content to the user's prompt: from the editor, from git, and by mentions."""
