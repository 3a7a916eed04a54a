"""Sessions that work in a worktree: a private copy of the user's folder."""
