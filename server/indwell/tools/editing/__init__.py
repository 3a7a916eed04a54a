"""Tools that change files: exact edits, merged with changes by others."""
