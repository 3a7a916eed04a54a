"""Commands for stored data: sessions, memory, and the deletion of all data."""
