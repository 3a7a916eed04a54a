"""Model providers behind one interface: endpoints, retries, prices, and a scripted model."""
