"""Connecting to an endpoint: addresses, a trial of it, its key and its models."""
