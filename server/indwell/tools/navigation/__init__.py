"""The tool ``navigate``: questions about code in words, and renames."""
