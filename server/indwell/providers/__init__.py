"""Models behind one interface: real endpoints, retry, prices, and the scripted model."""
