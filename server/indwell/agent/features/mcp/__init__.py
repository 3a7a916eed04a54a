"""Offers tools of MCP servers to the model: a catalogue, a search tool, and calls."""
