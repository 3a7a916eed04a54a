"""Review: every change of the agent with what stood there before, until the user has judged it."""
