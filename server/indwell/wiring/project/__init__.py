"""The contributions of a project's files to a session: instructions, skills, hooks, checks."""
