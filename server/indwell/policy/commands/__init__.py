"""Judges the parts of shell texts with tree-sitter. The judgement alone is no security boundary."""
