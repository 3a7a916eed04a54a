"""Replays recorded conversations through the real assembly and compaction, without a model."""
