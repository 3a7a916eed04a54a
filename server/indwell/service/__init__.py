"""What every front door needs: the queue, events, the trust store, endpoints and settings."""
