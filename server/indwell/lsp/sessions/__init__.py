"""The session and the turns of one editor: settings, trust, and what is kept of them."""
