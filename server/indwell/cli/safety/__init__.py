"""Commands on permissions, trust in folders, and the audit of a session."""
