"""One request to the model: its blocks, what it may cost, and how it is sent."""
