"""``indwell review``: reviews the agent's pending changes in a terminal."""
