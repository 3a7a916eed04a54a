"""Skills: instructions in folders, in the Agent Skills format."""
