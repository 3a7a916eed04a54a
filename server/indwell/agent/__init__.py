"""The agent: a session's turns, the loop of a turn, and what it tells while it runs."""
