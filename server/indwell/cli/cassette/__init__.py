"""``indwell record`` and ``indwell replay-cassette``: a session at its edges as a file."""
