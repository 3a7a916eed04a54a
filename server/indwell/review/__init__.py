"""Review: the agent's changes and the replaced text, until the user judges the changes."""
