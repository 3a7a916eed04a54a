"""Memory: facts for later sessions, proposed by the model and allowed by the user."""
