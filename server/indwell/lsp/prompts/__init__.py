"""The context of a prompt: selection, attachments, problems; and the places that offer prompts."""
