"""Builds the next request, explains it, and compares it with the previous request."""
