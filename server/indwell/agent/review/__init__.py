"""News of the review: changes that wait for a verdict, and those that the user rejected."""
