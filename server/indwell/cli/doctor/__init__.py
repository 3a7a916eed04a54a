"""``indwell doctor``: what works here, what does not, and how to mend it."""
