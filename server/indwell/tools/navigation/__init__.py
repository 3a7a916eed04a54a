"""The tool ``navigate``: questions about code, and renames."""
