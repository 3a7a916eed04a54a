"""``indwell eval``: measures models and settings on tasks whose checks the agent does not see."""
