"""The composition root: puts a session together from its concrete parts and its features."""
