"""What the agent works on: buffers over files, behind one interface."""
