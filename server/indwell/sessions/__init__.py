"""Sessions: an append-only log that reads back to the same conversation."""
