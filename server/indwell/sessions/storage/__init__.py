"""Sessions on disk: logs, drafts and retention."""
