"""Finds new problems in edited files, and decides whether a turn may end with problems."""
