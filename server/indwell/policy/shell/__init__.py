"""Reads shell texts: commands, words and redirects, parsed with tree-sitter."""
