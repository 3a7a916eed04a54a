"""Chat completions on the wire: requests, streamed replies, tool calls, refusals and faults."""
