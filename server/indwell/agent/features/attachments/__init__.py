"""What goes to the model with the user's words: from the editor, from git, and by mentions."""
