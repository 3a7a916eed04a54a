"""Runs the agent's shell commands, and prepares the output for the model."""
