"""Skills in a session: which there are, and how one is loaded."""
