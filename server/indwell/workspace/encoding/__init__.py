"""Bytes of a file to text and back: declared, detected, guessed, and never damaged."""
