"""One request to the model: its blocks, its budgets, and its sending."""
