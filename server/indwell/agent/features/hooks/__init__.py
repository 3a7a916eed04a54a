"""Hooks: commands of the user, or of a trusted project, that run at moments of a turn (H56).

Nothing in here knows a session: ``agent.hooking`` knows the moments, ``agent.hook_run`` runs.
"""
