"""Background commands: started, watched, listed, and stopped with the session."""
