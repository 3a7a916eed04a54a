"""Finds the files that git reads and runs for a folder, without running git."""
