"""The APIs that models are reached through: how each writes a request and reads a reply."""
