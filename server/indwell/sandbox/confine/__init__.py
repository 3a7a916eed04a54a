"""Confines a command: bubblewrap, Landlock, Seatbelt, and a system-call filter."""
