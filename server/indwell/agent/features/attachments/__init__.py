"""The attachments of a prompt: selection, open file, mentions, problems."""
