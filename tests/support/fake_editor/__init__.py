"""An editor without a screen, with which each test speaks the real protocol."""
