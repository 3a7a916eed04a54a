"""Detects protected files that commands add to git, and damage to git's object store."""
