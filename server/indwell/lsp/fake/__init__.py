"""An editor without a screen: it ships, so that every test has a real peer."""
