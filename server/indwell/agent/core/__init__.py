"""What the loop and the features share: session, seam of features, events, budget, log."""
