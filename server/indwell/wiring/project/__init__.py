"""What the files of a project contribute to a session: instructions, skills, hooks, checks."""
