"""Open sessions and stored sessions, with the user's commands for them."""
