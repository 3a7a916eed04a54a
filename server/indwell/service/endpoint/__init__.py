"""Connecting to an endpoint: its address, its test, its key and its models."""
