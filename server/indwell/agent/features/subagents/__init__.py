"""Sub-agents: a task in a conversation of its own, of which only the answer comes back."""
