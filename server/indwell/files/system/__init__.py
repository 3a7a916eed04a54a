"""Wraps the system's file calls in a common form for POSIX and Windows."""
