"""Runs sub-agents, which work on a task in a separate conversation and return an answer."""
