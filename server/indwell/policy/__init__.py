"""The policy: pure decisions over facts, rules and modes."""
