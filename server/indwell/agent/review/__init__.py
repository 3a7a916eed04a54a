"""News of the review: changes awaiting a verdict, and changes that the user rejected."""
