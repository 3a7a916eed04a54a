"""Sub-agents: a sub-agent works on a task in a separate conversation and returns an answer."""
