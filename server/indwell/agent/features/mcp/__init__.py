"""Tools of MCP servers: a short catalogue, a search tool, and calls that need permission."""
