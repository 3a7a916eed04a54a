"""Indwell's words to the model: system prompt, tasks, reminders."""
