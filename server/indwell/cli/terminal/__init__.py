"""The terminal: what is printed to it, and what is read from it."""
