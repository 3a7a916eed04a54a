"""Sessions on disk: logs, drafts, and how long they are kept."""
