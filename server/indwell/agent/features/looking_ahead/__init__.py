"""A look at the workspace before its first command."""
