"""The plan that the model proposes in mode ``plan`` and the user approves (H54)."""
