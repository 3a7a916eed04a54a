"""The pure context engine: conversations in, conversations and requests out."""
