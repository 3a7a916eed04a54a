"""Turns and their queue: prompts that wait, the turn that runs, and its events."""
