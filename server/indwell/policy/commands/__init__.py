"""Judges shell texts part by part, parsed with tree-sitter. No boundary by itself."""
