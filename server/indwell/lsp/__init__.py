"""The protocol layer, which translates messages; only this package uses pygls and lsprotocol."""
