"""News of the review: changes awaiting a verdict, rejected changes, what became of known files."""
