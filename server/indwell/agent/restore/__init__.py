"""What a session gets back from its log."""
