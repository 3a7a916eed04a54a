"""Commands for permissions, trust in folders, and the audit of a session."""
