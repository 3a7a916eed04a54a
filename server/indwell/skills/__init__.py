"""Skills: instructions in folders, in the Agent Skills layout; what they say of themselves."""
