"""Finds instruction files of a project, such as AGENTS.md, and sends them to the model."""
