"""Judges shell texts part by part, parsed with tree-sitter; by itself no security boundary."""
