"""Settings: one frozen value from environment, files and editor, and who may set what."""
