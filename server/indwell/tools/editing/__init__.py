"""Changing files: exact edits, merged where the text moved, told with their diff."""
