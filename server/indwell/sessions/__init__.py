"""Sessions: append-only logs that restore the same conversation."""
