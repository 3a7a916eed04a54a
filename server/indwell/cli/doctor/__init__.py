"""``indwell doctor``: checks what works here, and says how to fix what does not."""
