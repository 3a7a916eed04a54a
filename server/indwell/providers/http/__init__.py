"""What every wire shares below: HTTP client, server-sent events, limits, refusals, faults."""
