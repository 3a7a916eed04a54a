"""Reads shell texts with tree-sitter: commands, words and redirects."""
