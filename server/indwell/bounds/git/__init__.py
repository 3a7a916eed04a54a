"""Detects protected files that commands bring into git, and damage to git's object store."""
