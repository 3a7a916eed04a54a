"""What the editor and the user put beside a prompt: selection, open file, mentions, problems."""
