"""Commands for what Indwell connects to: endpoints of models, and MCP servers."""
