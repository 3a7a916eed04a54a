"""Defines Indwell's own messages, ``indwell/*``, and the names that the handshake lists."""
