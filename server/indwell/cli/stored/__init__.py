"""Commands on what this machine stores: sessions, memory, and deleting all of it."""
