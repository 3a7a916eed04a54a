"""What git reads and runs for a folder: followed as git does, with nothing run."""
