"""An editor without a screen, so that every test has a real peer."""
