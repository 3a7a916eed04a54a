"""Detects changes on disk: snapshots, incremental listings, and notifications by the system."""
