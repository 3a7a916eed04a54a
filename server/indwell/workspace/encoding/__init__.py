"""Decodes and encodes files: encodings are declared, detected or guessed, and never damaged."""
