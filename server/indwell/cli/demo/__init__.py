"""``indwell demo``: fixes a bug in a made-up project, in an editor without a screen."""
