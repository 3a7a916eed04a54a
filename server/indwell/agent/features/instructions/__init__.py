"""Instructions of the project and of the folders that work comes into (H13)."""
