"""Settings: one frozen value from environment, files and editor, and the limits of each source."""
