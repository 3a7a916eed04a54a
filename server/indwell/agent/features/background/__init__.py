"""Runs background commands: starts, watches, lists, and stops them with the session."""
