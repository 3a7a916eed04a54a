"""The HTTP layer of all wires: client, server-sent events, limits, refusals, faults."""
