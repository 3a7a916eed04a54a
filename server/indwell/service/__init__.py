"""What every front door offers: sessions, turns and their queue, trust, endpoints, settings."""
