"""``indwell review``: the agent's pending changes, reviewed in a terminal."""
