"""Runs hooks: commands of the user or of a trusted project, at moments of a turn.

`feature` calls the hooks, `permit` decides whether a hook may run, and `run` starts the hook.
"""
