"""Types shared by the loop and the features: session, slots of a feature, events, budget, log."""
