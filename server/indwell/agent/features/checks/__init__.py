"""Checks: finds new problems in edited files, and decides whether a turn may end with them."""
