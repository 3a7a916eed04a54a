"""The features of the agent, a folder each; none imports another, and the loop imports none."""
