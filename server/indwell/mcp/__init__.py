"""Connects to servers of the Model Context Protocol (MCP).

The modules that import the SDK are loaded when a server is started.
"""
