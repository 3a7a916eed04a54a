"""Loads skills (instructions for one kind of task) for the model or the user."""
