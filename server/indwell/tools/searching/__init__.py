"""Searching: ripgrep over the disk and the unsaved buffers, results that nobody can forge."""
