"""Questions of the model to the user: the tool, who answers, and what waits for an answer."""
