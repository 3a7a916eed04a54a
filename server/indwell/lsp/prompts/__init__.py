"""What goes with a prompt: the selection, attachments, problems; and where prompts are offered."""
