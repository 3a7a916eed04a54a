"""What changes on disk: snapshots, trees that are listed again, and notices of the system."""
