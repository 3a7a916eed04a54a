"""Confines a command: bubblewrap, Landlock, Seatbelt, and the filter of system calls."""
