"""Judges the parts of shell texts with tree-sitter; not a security boundary by itself."""
