"""Running commands: the shell of one agent, and its output as the model reads it."""
