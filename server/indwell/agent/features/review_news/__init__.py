"""News of the review: changes awaiting a verdict, rejected changes, the fate of known files."""
