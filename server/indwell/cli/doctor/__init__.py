"""``indwell doctor``: checks each part of the installation, with advice for failed checks."""
