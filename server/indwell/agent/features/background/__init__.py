"""Background commands: started, watched, listed and ended with the session."""
