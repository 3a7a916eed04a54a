"""Questions of the model to the user: the tool, who answers, and the pending question."""
