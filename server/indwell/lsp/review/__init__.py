"""Review in every editor: code actions, lenses, hints and commands for pending hunks."""
