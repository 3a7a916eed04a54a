"""``indwell replay``: recorded conversations run again, to compare presets."""
