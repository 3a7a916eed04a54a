"""Old messages become a summary: what it stands for, who writes it, what stays beside it (H25)."""
