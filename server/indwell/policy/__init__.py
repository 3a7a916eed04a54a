"""The policy: pure decisions on tool calls, from the call, the rules and the mode."""
