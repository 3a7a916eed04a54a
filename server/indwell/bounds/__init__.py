"""What a session may do at this moment: trust, secrets, rules, and the bounds of commands."""
