"""``indwell setup EDITOR``: the configuration of an editor, printed or put in place."""
