"""Tools of MCP servers: a short catalogue, a tool that finds them, and calls after a question."""
