"""What every front door needs: the queue, events, trust, endpoints and settings."""
