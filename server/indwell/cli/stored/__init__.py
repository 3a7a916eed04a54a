"""Commands on this machine's stored data: sessions, memory, and the deletion of all data."""
