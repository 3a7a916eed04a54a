"""The path of a permission: facts, policy, question, record; and what a call may change."""
