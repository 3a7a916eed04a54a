"""The typed messages of our own, ``indwell/*``, and the names that the handshake lists."""
