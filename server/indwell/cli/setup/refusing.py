"""What setup says when it leaves a file alone."""

from __future__ import annotations


class CannotMerge(Exception):
    """The file cannot take it, or give it back, without losing something; says why, for people."""
