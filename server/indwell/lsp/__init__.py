"""Translates protocol messages; only this package uses pygls and lsprotocol."""
