"""Sub-agents: they work on a task in a conversation of their own and return an answer."""
