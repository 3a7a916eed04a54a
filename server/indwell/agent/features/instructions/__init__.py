"""Instruction files of a project, such as AGENTS.md: found, read, and sent to the model."""
