"""``indwell demo``: fixes a fault in a made-up project, in an editor without a screen."""
