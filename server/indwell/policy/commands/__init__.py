"""Judges the parts of shell texts with tree-sitter. This alone is no security boundary."""
