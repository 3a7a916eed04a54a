"""Running commands: the shell of one agent, and its output in the form for the model."""
