"""Questions of the model to the user: the tool, the pending question, the answers."""
