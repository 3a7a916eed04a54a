"""Who may do what: pure decisions over facts, rules and modes."""
