"""Skills in a session: the catalogue, and loading a skill."""
