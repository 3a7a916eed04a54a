"""Definitions, references, outlines and renames: the editor, language servers, and syntax trees."""
