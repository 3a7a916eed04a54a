"""Decides whether a tool call may run, and records the changes of calls and commands."""
