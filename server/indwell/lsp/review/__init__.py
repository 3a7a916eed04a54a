"""Shows pending hunks in every editor: code actions, lenses, hints and commands."""
