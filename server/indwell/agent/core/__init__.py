"""What the loop and the features share: session, slots of a feature, events, budget, log."""
