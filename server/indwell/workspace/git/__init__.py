"""Finds what git reads and runs for a folder, without running git."""
