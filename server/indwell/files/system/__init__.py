"""The system's file calls, in one shape for POSIX and Windows."""
