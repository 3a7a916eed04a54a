"""Settings from environment, files and editor, and what each source may change."""
