"""Secrets in texts: how they are recognized, and kept from the model and the log."""
