"""Settings: one frozen value out of environment, files and editor, and who may set what."""
