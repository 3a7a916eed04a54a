"""The instructions of the project and of the folders in which the agent works (H13)."""
