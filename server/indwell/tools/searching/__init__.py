"""Searching: ripgrep over the disk and unsaved buffers, with results that cannot be forged."""
