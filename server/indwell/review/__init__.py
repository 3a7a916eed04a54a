"""Review: the agent's changes, with the text they replaced, until the user judges them."""
