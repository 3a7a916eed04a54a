"""The permission path of a call: facts, policy, question and record; and recorded changes."""
