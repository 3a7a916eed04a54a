"""The user's files and open buffers, behind one interface."""
