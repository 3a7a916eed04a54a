"""Old messages become the lines that are most likely to be needed (H19)."""
