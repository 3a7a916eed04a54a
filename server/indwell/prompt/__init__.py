"""Texts for the model: system prompt, tasks, reminders."""
