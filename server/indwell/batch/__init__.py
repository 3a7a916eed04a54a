"""``indwell batch``: runs many tasks over many repositories, each in a workspace of its own."""
