"""Computes the limits of a session: trusted folders, secret files, permission rules, sandboxes."""
