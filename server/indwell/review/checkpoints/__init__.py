"""Detects what commands change in the workspace, without git, so that it can be undone."""
