"""The plan: what the model proposes in mode ``plan``, and what the user says of it (H54)."""
