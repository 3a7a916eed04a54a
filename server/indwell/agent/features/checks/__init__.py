"""Checks: what edits did to the problems of files, and whether a turn may end with that."""
