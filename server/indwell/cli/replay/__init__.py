"""``indwell replay``: replays recorded conversations to compare compaction presets."""
