"""Answers questions about code, with the editor, language servers and syntax trees."""
