"""Review in every editor: code actions, lenses, hints and commands over the ledger of hunks."""
