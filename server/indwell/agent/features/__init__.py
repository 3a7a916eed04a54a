"""Contains the features of the agent, one folder for each feature."""
