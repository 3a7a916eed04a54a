"""The words that Indwell says to the model: system prompt, tasks, reminders."""
