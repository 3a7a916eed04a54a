"""All access to the disk: every other package opens, writes and lists paths through this one."""
