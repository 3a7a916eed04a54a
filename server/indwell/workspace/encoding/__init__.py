"""Decodes and encodes files by a declared, detected or guessed encoding, without damage."""
