"""The agent: sessions, the loop of a turn, and the events that it emits."""
