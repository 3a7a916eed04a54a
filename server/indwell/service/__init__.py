"""What every client (editor or terminal) needs: queue, events, trust, endpoints, settings."""
