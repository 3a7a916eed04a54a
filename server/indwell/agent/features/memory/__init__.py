"""Facts for later sessions: proposed by the model, allowed by the user, told where they fit."""
