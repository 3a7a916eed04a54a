"""The next request: made of the conversation, explained, and compared with the one before it."""
