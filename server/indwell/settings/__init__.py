"""Settings from environment, files and editor, and the permissions of each source."""
