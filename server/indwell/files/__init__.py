"""Contains all access to the disk; other packages open, write and list paths through it."""
