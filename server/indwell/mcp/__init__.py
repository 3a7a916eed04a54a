"""Servers of the Model Context Protocol: their definitions, and the connections to them.

Only ``indwell.mcp.connection`` imports the SDK, and it is imported when a server is started.
"""
