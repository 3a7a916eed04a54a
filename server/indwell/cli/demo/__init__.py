"""``indwell demo``: fixes a bug in a generated project, in an editor without a screen."""
