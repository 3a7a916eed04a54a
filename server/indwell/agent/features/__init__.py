"""The features of the agent, one folder each; none imports another, and the loop imports none."""
