"""The command ``indwell mcp``."""
