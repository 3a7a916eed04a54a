"""Detects changes by commands in the workspace, without git, so that they can be undone."""
