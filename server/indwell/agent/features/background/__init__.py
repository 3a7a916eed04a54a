"""Commands that run on beside the work: kept, told of, looked at, and ended with the session."""
