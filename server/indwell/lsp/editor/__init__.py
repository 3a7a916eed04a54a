"""The editor at the other end: what it is asked, and what it shows to the user."""
