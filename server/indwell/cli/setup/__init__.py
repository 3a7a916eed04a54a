"""``indwell setup EDITOR``: prints or writes the configuration of an editor."""
