"""Connects to an endpoint: its address, connection test, key and models."""
