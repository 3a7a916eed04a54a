"""Secrets in texts: what is one, by its own form, and how it is kept from the model and the log."""
