"""Detects changes on disk with snapshots, incremental listings, and the system's notifications."""
