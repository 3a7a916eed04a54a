"""The tool ``navigate``, which answers questions about code and renames symbols."""
