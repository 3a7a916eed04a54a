"""Scans the workspace before the agent's first command."""
