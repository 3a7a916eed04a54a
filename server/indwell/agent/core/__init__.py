"""Types that the loop and the features share: session, feature slots, events, budget, log."""
