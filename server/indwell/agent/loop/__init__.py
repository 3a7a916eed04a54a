"""The loop of a turn: rounds of a request and the tool calls of its reply."""
