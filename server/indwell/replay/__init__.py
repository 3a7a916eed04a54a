"""Recorded conversations run again through the real assembly and compaction, without a model."""
