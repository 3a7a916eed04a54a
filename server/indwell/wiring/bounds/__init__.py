"""The bounds of a command: what the sandbox shows, guards and puts back."""
