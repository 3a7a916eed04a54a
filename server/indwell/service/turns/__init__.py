"""Turns and their queue: waiting prompts, running turns, and events."""
