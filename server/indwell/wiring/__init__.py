"""The composition root: creates a session from its concrete parts and its features."""
