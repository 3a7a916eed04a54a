"""Hooks: commands of the user or of a trusted project that run at moments of a turn (H56).

`feature` has the moments, `permit` decides whether a hook may run, and `run` starts the hook.
"""
