"""Tools that change files: exact edits, merged with others' changes, reported with their diff."""
